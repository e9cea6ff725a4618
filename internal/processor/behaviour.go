package processor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Behaviour is how a Processor treats its callers. The zero value is a processor at its best: quick, always there, it refuses
// to repeat a key, and it can be asked.
//
// Calls are counted by key, those without one by reference, since the start or the last reset. Those with neither are each the
// first.
type Behaviour struct {
	Repeat   Repeat   `json:"repeat"`
	Conflict Conflict `json:"conflict"`
	Asked    Asked    `json:"asked"`

	Latency  time.Duration `json:"latency"`   // from a call's arrival until its charge lands; "20ms" in JSON
	Lag      time.Duration `json:"lag"`       // from then until the answer
	Hold     bool          `json:"hold"`      // nothing lands until a Behaviour without Hold is set: Latency without a clock
	SlowCall int           `json:"slow_call"` // n: Latency, Lag and Hold are for the n-th call alone that Unavailable lets pass; 0: for every call

	DeclineAll      bool    `json:"decline_all"`      // every card is declined, and every refund; DeclinedCard always is
	Unavailable     int     `json:"unavailable"`      // the first n calls of a key get 503, before anything happens
	UnavailableRate float64 `json:"unavailable_rate"` // so does this share of the others, 0 to 1, at random
	Drop            int     `json:"drop"`             // the first n calls of a key that Unavailable lets pass lose their connection after the charge
}

// Check says what is wrong with b.
func (b Behaviour) Check() error {
	switch {
	case b.Latency < 0 || b.Lag < 0:
		return errors.New("latency and lag must not be negative")
	case b.SlowCall < 0 || b.Unavailable < 0 || b.Drop < 0:
		return errors.New("slow_call, unavailable and drop must not be negative")
	case !(b.UnavailableRate >= 0 && b.UnavailableRate <= 1): // not a number is refused, too
		return errors.New("unavailable_rate must be 0 to 1")
	}
	_, err := json.Marshal(b) // an enumeration's value that has no name
	return err
}

// slow reports whether Latency, Lag and Hold are for the n-th call of a key.
func (b Behaviour) slow(call int) bool { return b.SlowCall == 0 || b.SlowCall == call }

// MarshalJSON writes durations as Go spells them.
func (b Behaviour) MarshalJSON() ([]byte, error) {
	type plain Behaviour
	return json.Marshal(struct {
		plain
		Latency string `json:"latency"`
		Lag     string `json:"lag"`
	}{plain(b), b.Latency.String(), b.Lag.String()})
}

// UnmarshalJSON reads what MarshalJSON writes. A member that is absent is zero, and an unknown one is an error.
func (b *Behaviour) UnmarshalJSON(text []byte) error {
	type plain Behaviour
	var read struct {
		plain
		Latency string `json:"latency"`
		Lag     string `json:"lag"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return err
	}
	*b = Behaviour(read.plain)
	for _, one := range []struct {
		name, text string
		value      *time.Duration
	}{{"latency", read.Latency, &b.Latency}, {"lag", read.Lag, &b.Lag}} {
		if one.text == "" {
			continue
		}
		var err error
		if *one.value, err = time.ParseDuration(one.text); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}
