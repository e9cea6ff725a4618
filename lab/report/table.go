// Package report shows people what experiments measured.
package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// tableLines aligns rows, the first of which is the head: a column of numbers to the right, any other to the left. It returns a line a
// row.
func tableLines(rows [][]string) []string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	texts := make([]int, len(rows[0])) // how wide a column of text is; 0: numbers
	for i := range texts {
		if i > 0 && numeric(rows[1:], i) {
			continue
		}
		for _, row := range rows {
			texts[i] = max(texts[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			// Cells of one width stand at the left of a column that is aligned to the right.
			fmt.Fprintf(w, "%-*s\t", texts[i], cell)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to memory
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// numeric reports whether column i holds numbers only, with units or not. A cell without a letter is no text.
func numeric(rows [][]string, i int) bool {
	for _, row := range rows {
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(row[i], "$+-−–×~ "))
		if !unicode.IsDigit(first) && strings.ContainsFunc(row[i], unicode.IsLetter) {
			return false
		}
	}
	return true
}

// Number writes 1234, which must not be negative, as 1,234.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Dollars writes 39200 cents as $392.00.
func Dollars(cents int64) string { return fmt.Sprintf("$%s.%02d", Number(int(cents/100)), cents%100) }

// Duration writes 0.12 seconds as 120ms.
func Duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// wrap breaks text into lines of at most 80 columns.
func wrap(text string) string { return wrapTo(text, 80) }

func wrapTo(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// List writes a, b and c.
func List(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}
