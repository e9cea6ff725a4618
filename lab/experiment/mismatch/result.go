package mismatch

import (
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/lab/report"
)

// Result is what the experiment measured.
type Result struct {
	Callers   int        `json:"callers"`
	Exchanges []Exchange `json:"exchanges"` // a design each, scene by scene
	Receipts  []Receipt  `json:"receipts"`  // a writer each, id by id
}

// Exchange is what became of a request that came under the key of another one.
type Exchange struct {
	Scene  string `json:"scene"`
	Design string `json:"design"`
	Ours   bool   `json:"ours"`

	Asked      string `json:"asked"` // charge or refund
	AskedCents int64  `json:"asked_cents"`
	Status     int    `json:"status"`
	Replayed   bool   `json:"replayed"`
	Named      string `json:"named,omitempty"` // what the answer is the receipt of; empty: it is none
	NamedCents int64  `json:"named_cents"`

	ChargedCents  int64 `json:"charged_cents"` // under the key, by both
	RefundedCents int64 `json:"refunded_cents"`
}

// Receipt is how the answer to one charge was written to all who asked for it.
type Receipt struct {
	Writer    string `json:"writer"`
	Ours      bool   `json:"ours"`
	ID        int64  `json:"id"`
	First     string `json:"first"`      // the first answer
	Later     string `json:"later"`      // the last replay
	Replays   int    `json:"replays"`    // as many as were asked for
	SameBytes bool   `json:"same_bytes"` // all of them and the first
	SameValue bool   `json:"same_value"` // for a client that compares types and digits
}

func (r *Result) exchange(scene, design string) Exchange {
	for _, e := range r.Exchanges {
		if e.Scene == scene && e.Design == design {
			return e
		}
	}
	return Exchange{Scene: scene, Design: design}
}

func (r *Result) receipt(writer string, id int64) Receipt {
	for _, one := range r.Receipts {
		if one.Writer == writer && one.ID == id {
			return one
		}
	}
	return Receipt{Writer: writer, ID: id}
}

// refused: the request was told that its key is another's, and moved nothing.
func (e Exchange) refused() bool {
	return e.Status == http.StatusUnprocessableEntity && e.moved() == e.first()
}

// wrong: the request was told that it is done, with the receipt of another one.
func (e Exchange) wrong() bool {
	return e.Status == http.StatusOK && (e.Named != e.Asked || e.NamedCents != e.AskedCents)
}

// done: the request was carried out, and got its own receipt.
func (e Exchange) done() bool { return e.Status == http.StatusOK && !e.Replayed && !e.wrong() }

// same: the request got the receipt of the first one, which it is.
func (e Exchange) same() bool {
	return e.Status == http.StatusOK && e.Replayed && !e.wrong() && e.moved() == e.first()
}

// moved is all that was taken and given back.
func (e Exchange) moved() int64 { return e.ChargedCents + e.RefundedCents }

// first is what the scene's first request took.
func (e Exchange) first() int64 {
	for _, s := range scenes {
		if s.name == e.Scene {
			return s.first.cents
		}
	}
	return 0
}

// says is what the client was told, such as: charge of $49.00.
func (e Exchange) says() string {
	switch {
	case e.Status == 0:
		return "it did not run"
	case e.Named == "":
		return fmt.Sprint(e.Status)
	}
	return fmt.Sprintf("%s of %s", e.Named, report.Dollars(e.NamedCents))
}
