package processor

import "net/http"

// askKey serves GET ?key=K: what has become of the call under it.
func (p *Processor) askKey(w http.ResponseWriter, r *http.Request, k kind) {
	key := r.FormValue("key")
	if err := checkKey(key); err != nil {
		writeError(w, err)
		return
	}
	if !p.answers(w) {
		return
	}
	// Looked at before the table: a call that lands in between is then in the table, and never in neither.
	pending := p.arrivals.pending(name{kind: k, key: key})
	row, ok, err := table{p.Pool}.findKey(r.Context(), k, key)
	if err == nil && !ok && pending && p.Current().Asked == AskedPending {
		err = ErrPending
	}
	tell(w, row, ok, err)
}

// askID serves GET /{id}.
func (p *Processor) askID(w http.ResponseWriter, r *http.Request, k kind) {
	if !p.answers(w) {
		return
	}
	row, ok, err := table{p.Pool}.findID(r.Context(), k, r.PathValue("id"))
	tell(w, row, ok, err)
}

// answers reports whether the processor can be asked, and answers if it cannot.
func (p *Processor) answers(w http.ResponseWriter) bool {
	p.counters.asked.Add(1)
	switch p.Current().Asked {
	case AskedNothing:
		writeError(w, ErrNothing)
		return false
	case AskedRefuse:
		writeError(w, ErrCannotAsk)
		return false
	}
	return true
}

func tell(w http.ResponseWriter, row row, ok bool, err error) {
	switch {
	case err != nil:
		writeError(w, err)
	case !ok:
		writeError(w, ErrNothing)
	default:
		writeJSON(w, http.StatusOK, row.receipt())
	}
}
