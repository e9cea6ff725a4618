package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pgidem/pgidem/lab/experiment"
)

// Crash is the crash table on paper. PostgreSQL and Redis are the versions that it ran on; with Color, rows with duplicates are
// red and those of designs that promise none, and had none, are green.
type Crash struct {
	*experiment.CrashResult
	PostgreSQL string
	Redis      string
	Color      bool
}

// Write writes it to w: article 003's table and the product's, each with what it is about, and a sentence that says what they
// mean, unless there are Problems.
func (c Crash) Write(w io.Writer) error {
	theirs, ours := c.split()
	paragraphs := []string{
		c.title(),
		c.table(theirs),
		wrap("Beside each row what article 003 prints for it, for 1,000 keys and 100 crashes (charges and duplicates)."),
		c.oursTitle(),
		c.table(ours),
	}
	if note := c.note(); note != "" {
		paragraphs = append(paragraphs, note)
	}
	if len(c.Problems()) == 0 {
		paragraphs = append(paragraphs, c.sentence())
	}
	_, err := io.WriteString(w, strings.Join(paragraphs, "\n\n")+"\n")
	return err
}

// split parts the article's designs from the product's.
func (c Crash) split() (theirs, ours []experiment.CrashRow) {
	for _, r := range c.Rows {
		if r.Ours {
			ours = append(ours, r)
		} else {
			theirs = append(theirs, r)
		}
	}
	return theirs, ours
}

func (c Crash) title() string {
	return wrap(fmt.Sprintf("%s payments through the six designs of article 003, %d workers at a time, each a process of its own. On %s keys "+
		"the worker dies by SIGKILL after the charge and before the completion mark; the client comes again every %s, and a pending key "+
		"counts as stale after %s. PostgreSQL %s, Redis %s, and a card processor that is a process of its own.",
		Number(c.Keys), c.Workers, Number(c.Kills), Duration(c.RetrySeconds), Duration(c.StaleSeconds), c.PostgreSQL, c.Redis))
}

func (c Crash) oursTitle() string {
	return wrap(fmt.Sprintf("The same through pgidem, with leases of %s. A call that lands late is one whose worker dies as soon as the "+
		"processor is asked: its charge lands when the key has been taken up again, however long Settle is.", Duration(c.LeaseSeconds)))
}

func (c Crash) table(rows []experiment.CrashRow) string {
	head := []string{"design", "charges", "duplicates", "unresolved", "answered", "seconds"}
	article := len(rows) > 0 && rows[0].Article != nil
	if article {
		head = append(head, "article 003")
	}
	cells := [][]string{head}
	for _, r := range rows {
		row := []string{
			r.Design, Number(r.Charges), Number(r.Duplicates), Number(r.Unresolved), Number(r.Answered), fmt.Sprintf("%.1f", r.Seconds),
		}
		if article {
			row = append(row, Number(r.Article.Charges)+" / "+Number(r.Article.Duplicates))
		}
		cells = append(cells, row)
	}
	lines := tableLines(cells)
	for i, r := range rows {
		lines[i+1] = c.paint(lines[i+1], r)
	}
	return strings.Join(lines, "\n")
}

// note explains the keys that were left to an operator.
func (c Crash) note() string {
	for _, r := range c.Rows {
		if r.Operator && r.Unresolved > 0 {
			return wrap(fmt.Sprintf("Unresolved keys are those that no policy may decide: their clients are told that the outcome is unknown, and "+
				"they are listed. Here an operator looked each of the %s up in the processor's books and settled it, and its client "+
				"then got that answer.", Number(r.Unresolved)))
		}
	}
	return ""
}

// sentence says what the numbers mean, when there are no problems with them.
func (c Crash) sentence() string {
	text := fmt.Sprintf("A crash between the charge and its mark became a second charge, %s times of %s, wherever nothing but the key "+
		"store stood guard. It became none where the charge is in the key's own transaction, where the processor refuses to repeat "+
		"a key, where it can be asked and says what is pending, and where the key is left to an operator; and every payment was "+
		"answered.", Number(c.Kills), Number(c.Kills))
	if last := c.Rows[len(c.Rows)-1]; last.Ours && !last.Once {
		text += " The last row is where that ends: a processor that says that nothing has happened while a call is on its way is asked " +
			"to charge again. StaleResolve is not for it, unless Settle is longer than a call can take."
	}
	return wrap(text)
}

func (c Crash) paint(line string, r experiment.CrashRow) string {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	switch {
	case !c.Color:
		return line
	case r.Duplicates > 0 || r.Missing > 0:
		return red + line + plain
	case r.Once:
		return green + line + plain
	}
	return line
}

// Duration writes 0.12 seconds as 120ms.
func Duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
