package timeout

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the result to people.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "timeout",
		Title:    "The client gives up before the processor answers",
		Articles: article004,
		Lead:     r.lead(),
		Charts:   []chart.Chart{r.nightChart(), r.workerChart(), r.servedChart(), r.lateChart(), r.verdictChart()},
		Tables:   []report.Table{r.nightTable(), r.waitTable(), r.lateTable(), r.cartTable(), r.verdictTable()},
		Findings: r.findings(),
	}
}

func (r *Result) lead() string {
	return fmt.Sprintf("A second of article 004 takes %g ms here. In its night %d customers have a client that waits %d seconds "+
		"for an answer and sends the payment again, %d tries in all, and a processor that takes %d; they use the payments example, "+
		"a program of its own, over HTTP.\n\n"+
		"Then one payment takes long at a server with %d workers and as many connections to its database. %d duplicates of it "+
		"come through a proxy, which waits %d seconds, and either wait or are answered 409; meanwhile %d other customers come, who "+
		"wait %d.\n\n"+
		"Then %d phones send a payment again whose answer they lost, so many hours later, to a server that keeps keys for 24 hours "+
		"and to one that keeps them for 72. The hours pass in the database, and the product's sweep runs after them. Then the same "+
		"with carts that were cancelled and replaced meanwhile.\n\n"+
		"Last, the processor fails: it declines %[11]d cards that have money again later, and answers 503 to the first call of %[11]d "+
		"payments.",
		r.SecondSeconds*1000, r.Customers, r.ClientSeconds, tries, r.ProcessorSeconds,
		r.Workers, 2*r.Workers, r.ProxySeconds, r.Strangers, r.ClientSeconds, r.Payments)
}

// toneOf is red where something went wrong.
func toneOf(wrong int) chart.Tone {
	if wrong > 0 {
		return chart.Bad
	}
	return chart.Good
}
