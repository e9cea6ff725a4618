package webhook

import "crypto/rand"

// Event is what the provider tells of a payment.
type Event struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Payment string `json:"payment"`
}

// A payment's events, in the order in which they come.
const (
	completed = "checkout.session.completed" // the shop opens the course
	paid      = "invoice.paid"               // the shop enters the invoice in its books
)

// newPayment is the events of a payment that nobody has told of before.
func newPayment() [2]Event {
	payment := "pay_" + rand.Text()
	return [2]Event{
		{ID: "evt_" + rand.Text(), Type: completed, Payment: payment},
		{ID: "evt_" + rand.Text(), Type: paid, Payment: payment},
	}
}

// amountCents is what each payment has brought the shop.
const amountCents = 49_00

// Key is by what a ledger knows an event again.
type Key string

const (
	byPayment Key = "payment id"
	byEvent   Key = "event id"
)

// of is e's key.
func (k Key) of(e Event) string {
	if k == byPayment {
		return e.Payment
	}
	return e.ID
}
