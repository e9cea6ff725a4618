package idemtest

import (
	"fmt"
	"strings"
)

// Faults are what a storm found wrong, a few sentences each: what happened, and what it costs.
type Faults []string

func (f Faults) Error() string { return strings.Join(f, "\n") }

// trial is a round's answers before their judge.
type trial struct {
	customers []*customer
	counted   bool // more is known
	more      int  // effects
}

// faults judges. Where no request was understood the rest means nothing.
func (t *trial) faults() (all Faults) {
	if fault := t.misunderstood(); fault != "" {
		return Faults{fault}
	}
	for _, fault := range []string{t.repeated(), t.strayed(), t.busy(), t.differing(), t.unowned(), t.miscounted()} {
		if fault != "" {
			all = append(all, fault)
		}
	}
	return all
}

func (t *trial) misunderstood() string {
	for _, c := range t.customers {
		if len(c.by[stray]) < len(c.copies)+len(c.retries) {
			return ""
		}
	}
	return fmt.Sprintf("No request was answered with success, a replay or a reason to come back; the first one got %s. "+
		"Is it the right path, and does the request carry the key? A Storm whose first answers have another status sets Status.",
		t.customers[0].copies[0])
}

// repeated finds work that was done for a duplicate too.
func (t *trial) repeated() string {
	cost := "The handler did its work for a duplicate too: a customer whose time-out sent the payment again pays twice."
	if t.counted && t.more == len(t.customers) {
		cost = "The effects are one a key, so nobody has paid twice yet; but no client can tell this from a second payment, and it is booked as one."
	}
	return t.about(func(c *customer) string {
		if len(c.by[first]) < 2 {
			return ""
		}
		return fmt.Sprintf("answered %d times as if it were new (%s), without Idempotent-Replayed: true", len(c.by[first]), some(c.by[first]))
	}, cost)
}

// strayed finds answers that a client can make nothing of.
func (t *trial) strayed() string {
	return t.about(func(c *customer) string {
		if len(c.by[stray]) == 0 {
			return ""
		}
		what := "answered with " + c.by[stray][0].String()
		if c.by[stray][0].isBusy() {
			return what + " without Retry-After, so its client does not know that it is to come back"
		}
		return what + ", which is neither an answer to keep nor a 409 or 503 with Retry-After"
	}, "That customer is told that a payment failed which did not, and pays again some other way.")
}

// busy finds keys that are not answered when all is quiet again.
func (t *trial) busy() string {
	return t.about(func(c *customer) string {
		last := c.retries[len(c.retries)-1]
		if last.kindOf(0) != notYet {
			return ""
		}
		return fmt.Sprintf("asked %d times more after the storm and never answered, at last with %s", len(c.retries), last)
	}, "A key that looks busy for ever is an order that nobody can finish: the customer may have paid, and is never told.")
}

// differing finds replays of something else.
func (t *trial) differing() string {
	return t.about(func(c *customer) string {
		if len(c.by[first]) > 1 {
			return "" // each is an answer of its own, and repeated has told it
		}
		given := append(c.by[first], c.by[replay]...)
		for _, a := range given {
			if was := given[0]; !a.equals(was) {
				one, other := was.String(), a.String()
				if one == other {
					one, other = was.header.Get("Content-Type")+" "+one, a.header.Get("Content-Type")+" "+other
				}
				return fmt.Sprintf("answered with %s and with %s", one, other)
			}
		}
		return ""
	}, "One payment has two receipts, and one of them is wrong.")
}

// unowned finds new keys whose every answer says that it is old.
func (t *trial) unowned() string {
	return t.about(func(c *customer) string {
		if len(c.by[first]) > 0 || len(c.by[replay]) == 0 || len(c.by[stray]) > 0 {
			return ""
		}
		return fmt.Sprintf("new, and yet every answer says Idempotent-Replayed: true (%s)", some(c.by[replay]))
	}, "A new key that is answered from the record gets the answer to somebody else's request: a receipt for what was never bought.")
}

// miscounted finds what the answers hide.
func (t *trial) miscounted() string {
	switch keys := len(t.customers); {
	case !t.counted || t.more == keys:
		return ""
	case t.more > keys:
		return fmt.Sprintf("There are %d new effects for %d keys. Customers pay more than once, whatever the answers say.", t.more, keys)
	default:
		return fmt.Sprintf("There are %d new effects for %d keys. Customers are told that something was done which was not: paid for, and never delivered.", t.more, keys)
	}
}

// about says of how many customers look has something to tell, what it tells of the first, and what that costs.
func (t *trial) about(look func(*customer) string, cost string) string {
	affected, example := 0, ""
	for _, c := range t.customers {
		if what := look(c); what != "" {
			if affected++; affected == 1 {
				example = fmt.Sprintf("%s was %s", c.key, what)
			}
		}
	}
	if affected == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d keys, of which %s. %s", affected, len(t.customers), example, cost)
}

// some names answers, but not all of many.
func some(answers []answer) string {
	var names []string
	for i, a := range answers {
		if i == 3 {
			names = append(names, fmt.Sprintf("and %d more", len(answers)-i))
			break
		}
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}
