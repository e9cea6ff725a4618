package webhook

import "slices"

// Result is what the experiment measured.
type Result struct {
	Payments    int        `json:"payments"` // of each part
	Copies      int        `json:"deliveries_at_once"`
	WorkSeconds float64    `json:"work_seconds"`
	InHand      int        `json:"deliveries_in_hand"`
	Keys        []KeyRow   `json:"keys"`
	Pairs       []PairRow  `json:"pairs"`
	Deaths      []DeathRow `json:"deaths"`
}

// key is the row of a receiver; a row without events where there is none.
func (r *Result) key(ledger string, key Key, belt bool) KeyRow {
	i := slices.IndexFunc(r.Keys, func(k KeyRow) bool { return k.Ledger == ledger && k.Key == key && k.Belt == belt })
	if i < 0 {
		return KeyRow{}
	}
	return r.Keys[i]
}

func (r *Result) pair(ledger string, belt bool) PairRow {
	i := slices.IndexFunc(r.Pairs, func(p PairRow) bool { return p.Ledger == ledger && p.Belt == belt })
	if i < 0 {
		return PairRow{}
	}
	return r.Pairs[i]
}

func (r *Result) death(ledger string, busy int) DeathRow {
	i := slices.IndexFunc(r.Deaths, func(d DeathRow) bool { return d.Ledger == ledger && d.Busy == busy })
	if i < 0 {
		return DeathRow{}
	}
	return r.Deaths[i]
}

// isWhole reports whether each event was fulfilled, once.
func (f Fulfilled) isWhole() bool { return f.Events > 0 && f.Once == f.Events && f.Times == f.Events }
