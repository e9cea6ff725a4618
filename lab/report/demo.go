package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pgidem/pgidem/lab/experiment"
)

// Demo is the demo's result on paper. Server is the version of PostgreSQL that it ran on; with Color, rows of designs that
// charged twice are red and those of designs that promise not to, and did not, are green.
type Demo struct {
	*experiment.DemoResult
	Server string
	Color  bool
}

// Write writes it to w: two tables with what they are about, and a sentence that says what they mean, unless there are Problems.
func (d Demo) Write(w io.Writer) error {
	paragraphs := []string{
		d.stormTitle(),
		d.stormTable(),
		wrap("A 409 is a client that waited a second for another request and was told to come back. An order's time passes " +
			"inside its transaction, so it holds a connection of the API; a charge holds none."),
		d.nightTitle(),
		d.nightTable(),
		d.barrierTitle(),
		d.barrierTable(),
	}
	if len(d.Problems()) == 0 {
		paragraphs = append(paragraphs, d.sentence())
	}
	_, err := io.WriteString(w, strings.Join(paragraphs, "\n\n")+"\n")
	return err
}

func (d Demo) stormTitle() string {
	delay := time.Duration(d.DelaySeconds * float64(time.Second))
	return wrap(fmt.Sprintf("%s payments, each sent %d times in shuffled order from %d workers over HTTP to the payments example; "+
		"a charge at its card processor, or the work of an order, takes %s. PostgreSQL %s, a pool of %d connections.",
		Number(d.Storm[0].Payments), d.Copies, d.Workers, delay, d.Server, d.Workers))
}

func (d Demo) stormTable() string {
	rows := [][]string{{"design", "charges", "duplicates", "replays", "409s", "requests/s"}}
	for _, r := range d.Storm {
		rows = append(rows, []string{
			r.Design, Number(r.Charges), Number(r.Duplicates), Number(r.Replays), Number(r.InFlight), Number(int(r.RequestsPerSecond)),
		})
	}
	lines := tableLines(rows)
	for i, r := range d.Storm {
		lines[i+1] = d.paint(lines[i+1], r)
	}
	return strings.Join(lines, "\n")
}

func (d Demo) nightTitle() string {
	n := d.Night[0]
	return wrap(fmt.Sprintf("The night of article 004, a second of which is %s here: %d customers whose client waits 10 seconds for "+
		"an answer and sends the payment again under the same key, and a processor that takes 11.", n.Second, n.Payments))
}

func (d Demo) nightTable() string {
	rows := [][]string{{"design", "customers", "paid twice", "charges", "answered"}}
	for _, n := range d.Night {
		rows = append(rows, []string{
			n.Design, Number(n.Payments), Number(n.PaidTwice), Number(n.Charges), Number(n.Charged + n.Replays),
		})
	}
	lines := tableLines(rows)
	for i, n := range d.Night {
		lines[i+1] = d.paint(lines[i+1], n.Result)
	}
	return strings.Join(lines, "\n")
}

func (d Demo) barrierTitle() string {
	first := d.Barrier[0][0]
	return wrap(fmt.Sprintf("One payment of %s, sent by %d workers released from a barrier at the same instant; READ COMMITTED, "+
		"no unique index on the charges. What the customer paid:", Dollars(first.AmountCents/int64(max(first.Charges, 1))), first.Requests))
}

// article000 is what article 000 prints for the same experiment on PostgreSQL 17.6: not measured here.
var article000 = []string{"(check-then-insert, in article 000)", "8 × = $392.00", "8 × = $392.00", "8 × = $392.00"}

func (d Demo) barrierTable() string {
	rows := [][]string{{"design"}}
	for i := range d.Barrier[0] {
		rows[0] = append(rows[0], fmt.Sprintf("trial %d", i+1))
	}
	for _, trials := range d.Barrier {
		row := []string{trials[0].Design}
		for _, r := range trials {
			row = append(row, fmt.Sprintf("%d × = %s", r.Charges, Dollars(r.AmountCents)))
		}
		rows = append(rows, row)
	}
	lines := tableLines(append(rows, article000))
	for i, trials := range d.Barrier {
		worst := trials[0]
		for _, r := range trials {
			if r.Duplicates > worst.Duplicates {
				worst = r
			}
		}
		lines[i+1] = d.paint(lines[i+1], worst)
	}
	return strings.Join(lines, "\n")
}

// sentence says what the storm's numbers mean, when there are no problems with them.
func (d Demo) sentence() string {
	var naive, ours []string
	retries, replays := 0, 0
	for _, r := range d.Storm {
		if !r.Once {
			naive = append(naive, fmt.Sprintf("%s with %s", Number(r.Duplicates), r.Design))
			continue
		}
		ours = append(ours, r.Design)
		retries += r.Requests - r.Payments
		replays += r.Replays
	}
	answered := "every retry got that charge's answer"
	if replays < retries {
		answered = fmt.Sprintf("%s of %s retries got that charge's answer", Number(replays), Number(retries))
	}
	return wrap(fmt.Sprintf("Retries became extra charges, %s, because copies that overlap all look before any has charged; "+
		"with %s they became none: each of the %s payments was charged exactly once, and %s.",
		List(naive), List(ours), Number(d.Storm[0].Payments), answered))
}

func (d Demo) paint(line string, r experiment.Result) string {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	switch {
	case !d.Color:
		return line
	case r.Duplicates > 0 || r.Once && r.Missing > 0:
		return red + line + plain
	case r.Once:
		return green + line + plain
	}
	return line
}
