package processor

import (
	"encoding/json"
	"net/http"
)

// Receipt is a charge or a refund, made or declined, as first answers, repeats and questions all show it.
type Receipt struct {
	ID          string `json:"id"` // ch_1, re_2
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
	Status      string `json:"status"` // Succeeded or Declined
	Charge      string `json:"charge,omitempty"`
	Reference   string `json:"reference,omitempty"`

	Replayed bool `json:"-"` // the key's first call made it, this one did nothing
}

// What became of a call that was carried out. A declined one took no money, and never will.
const (
	Succeeded = "succeeded"
	Declined  = "declined"
)

// write answers a POST with r.
func (r Receipt) write(w http.ResponseWriter) {
	status := http.StatusCreated
	if r.Replayed {
		w.Header().Set("Idempotent-Replayed", "true")
		status = http.StatusOK
	}
	if r.Status == Declined {
		status = http.StatusPaymentRequired
	}
	writeJSON(w, status, r)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever has gone does not read it
}

// writeError answers with an Error; any other error is ErrFailed.
func writeError(w http.ResponseWriter, err error) {
	e, ok := err.(*Error)
	if !ok {
		e = because(ErrFailed, "%v", err).(*Error)
	}
	if e.Code == "pending" {
		writeJSON(w, e.Status, map[string]string{"status": e.Code})
		return
	}
	writeJSON(w, e.Status, e)
}
