// Package report shows people what experiments measured.
package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table aligns rows, the first column to the left and the others, which are numbers, to the right. It returns a line a row.
func table(rows [][]string) []string {
	widest := 0
	for _, row := range rows {
		widest = max(widest, utf8.RuneCountInString(row[0]))
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		// Names of one width stand at the left of a column that is aligned to the right.
		fmt.Fprintf(w, "%-*s\t%s\t\n", widest, row[0], strings.Join(row[1:], "\t"))
	}
	_ = w.Flush() // to memory
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// number writes 1234, which must not be negative, as 1,234.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// dollars writes 39200 cents as $392.00.
func dollars(cents int64) string { return fmt.Sprintf("$%s.%02d", number(int(cents/100)), cents%100) }

// wrap breaks text into lines of at most 80 columns.
func wrap(text string) string {
	const width = 80
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

// list writes a, b and c.
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}
