package timeout

import (
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/lab/report"
)

func (r *Result) nightTable() report.Table {
	t := report.Table{
		Title: fmt.Sprintf("%s customers whose client waits %d seconds, and a processor that takes %d",
			report.Number(r.Customers), r.ClientSeconds, r.ProcessorSeconds),
		Columns: []string{"server", "client", "paid twice", "charges", "money", "answered"},
		Note: fmt.Sprintf("The client is the product's, with %d tries. That which makes a new key for each try differs in nothing "+
			"else, and its server is the same. A server that makes the key itself would do the same.", tries),
	}
	for _, n := range r.Nights {
		t.Rows = append(t.Rows, report.Row{Tone: toneOf(n.PaidTwice), Cells: []string{
			n.Server, n.Client, report.Number(n.PaidTwice), report.Number(n.Charges), report.Dollars(n.Cents), report.Number(n.Answered),
		}})
	}
	return t
}

func (r *Result) waitTable() report.Table {
	t := report.Table{
		Title: fmt.Sprintf("A payment that takes long, %d duplicates of it and %d other customers, at %d workers",
			2*r.Workers, r.Strangers, r.Workers),
		Columns: []string{"design", "duplicates", "workers", "conns", "database", "others served", "median", "cut", "charges"},
		Note: "Held by the duplicates while the others came: workers, connections to the server and, by the slow payment too, " +
			"connections to the database. Cut are duplicates that the proxy answered 504. In one process the product's duplicates " +
			"wait in memory, and hold no connection to the database.",
	}
	for _, w := range r.Waits {
		duplicates := fmt.Sprintf("%d × 409", w.Conflicts)
		if w.Waits {
			duplicates = "wait"
		}
		median := "–"
		if w.Served > 0 {
			median = strconv.FormatFloat(w.MedianSeconds*1000, 'f', 1, 64) + " ms"
		}
		t.Rows = append(t.Rows, report.Row{Tone: toneOf(w.Workers), Cells: []string{
			w.Design, duplicates, strconv.Itoa(w.Workers), strconv.Itoa(w.Conns), strconv.Itoa(w.DatabaseConns),
			fmt.Sprintf("%d of %d", w.Served, w.Strangers), median, strconv.Itoa(w.Cut), strconv.Itoa(w.Charges),
		}})
	}
	return t
}

// phone is who comes back.
func phone(maxAge int) string {
	if maxAge == 0 {
		return "sends any key"
	}
	return fmt.Sprintf("Transport, MaxAge %d h", maxAge)
}

func (r *Result) lateTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("%s phones that send a payment again whose answer they lost", report.Number(r.Payments)),
		Columns: []string{"keys kept", "phone", "after", "charged again", "replayed", "not sent"},
		Note:    "A phone that does not send an old key asks its owner, or the shop, what became of the payment.",
	}
	for _, l := range r.Late {
		if l.AfterHours != 25 && l.AfterHours != 73 {
			continue
		}
		t.Rows = append(t.Rows, report.Row{Tone: toneOf(l.Again), Cells: []string{
			hoursCell(l.RetentionHours), phone(l.MaxAgeHours), hoursCell(l.AfterHours),
			report.Number(l.Again), report.Number(l.Replayed), report.Number(l.NotSent),
		}})
	}
	return t
}

func (r *Result) cartTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("%s phones that send a cart again which their customer has cancelled since", report.Number(r.Payments)),
		Columns: []string{"keys kept", "phone", "after", "told: bought", "told: gone", "not sent"},
		Note: "A replay is the answer of its time: nothing looks at the cart as it is now. Where the key is forgotten the handler " +
			"runs, and sees that the cart is gone.",
	}
	for _, c := range r.Carts {
		t.Rows = append(t.Rows, report.Row{Tone: toneOf(c.Resurrected), Cells: []string{
			hoursCell(c.RetentionHours), phone(c.MaxAgeHours), hoursCell(c.AfterHours),
			report.Number(c.Resurrected), report.Number(c.Refused), report.Number(c.NotSent),
		}})
	}
	return t
}

func hoursCell(hours int) string { return strconv.Itoa(hours) + " h" }

func (r *Result) verdictTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("%s declined payments and %[1]s answered 503, sent again", report.Number(r.Payments)),
		Columns: []string{"design", "declined again", "charged though declined", "through after a 503", "stuck"},
	}
	for _, v := range r.Verdicts {
		t.Rows = append(t.Rows, report.Row{Tone: toneOf(v.wrong()), Cells: []string{
			v.Design, report.Number(v.DeclinedAgain), report.Number(v.ChargedAfterDecline),
			report.Number(v.GotThrough), report.Number(v.Stuck),
		}})
	}
	return t
}
