package timeout

import "slices"

// Result is what the experiment measured. A second of the article took SecondSeconds.
type Result struct {
	Customers        int     `json:"customers"` // of the night
	SecondSeconds    float64 `json:"second_seconds"`
	ClientSeconds    int     `json:"client_time_out_article_seconds"`
	ProcessorSeconds int     `json:"processor_article_seconds"`
	ProxySeconds     int     `json:"proxy_time_out_article_seconds"`
	Workers          int     `json:"workers"`
	Strangers        int     `json:"other_customers"`
	Payments         int     `json:"payments"` // of each late retry, and of each failure

	Nights   []NightRow   `json:"nights"`
	Waits    []WaitRow    `json:"waits"`
	Fewer    []WaitRow    `json:"fewer_duplicates"` // of the product's lease mode
	Late     []LateRow    `json:"late"`
	Carts    []CartRow    `json:"carts"`
	Verdicts []VerdictRow `json:"verdicts"`
}

// find is the first of rows that is so; the zero row where there is none.
func find[T any](rows []T, is func(T) bool) (row T) {
	if i := slices.IndexFunc(rows, is); i >= 0 {
		row = rows[i]
	}
	return row
}

func (r *Result) night(server, client string) NightRow {
	return find(r.Nights, func(n NightRow) bool { return n.Server == server && n.Client == client })
}

func (r *Result) wait(design string, waits bool) WaitRow {
	return find(r.Waits, func(w WaitRow) bool { return w.Design == design && w.Waits == waits })
}

func (r *Result) lateAt(retention, maxAge, after int) LateRow {
	return find(r.Late, func(l LateRow) bool {
		return l.RetentionHours == retention && l.MaxAgeHours == maxAge && l.AfterHours == after
	})
}

func (r *Result) cart(retention, maxAge, after int) CartRow {
	return find(r.Carts, func(c CartRow) bool {
		return c.RetentionHours == retention && c.MaxAgeHours == maxAge && c.AfterHours == after
	})
}

func (r *Result) verdict(design string) VerdictRow {
	return find(r.Verdicts, func(v VerdictRow) bool { return v.Design == design })
}
