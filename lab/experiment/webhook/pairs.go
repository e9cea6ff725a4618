package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/workbench"
)

// PairRow is what became of pairs of deliveries of one event that interleave: where the ledger is a SELECT, both have looked
// before either works; where it is a claim, the second one comes while the first is at work.
type PairRow struct {
	Ledger string `json:"ledger"`
	Belt   bool   `json:"unique_index_on_payment"`
	Fulfilled
	Apart             Apart `json:"looks_apart"` // zero where nobody looks
	WithinMillisecond int   `json:"looks_within_a_millisecond"`
}

// Apart is how far apart the two looks of the pairs were.
type Apart struct {
	MedianSeconds float64 `json:"median_seconds"`
	MostSeconds   float64 `json:"most_seconds"`
}

func (w *Webhook) pairs(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, result *Result) error {
	for _, k := range keyedReceivers() {
		if k.key != byEvent {
			continue
		}
		row, err := w.paired(ctx, bench, pool, k)
		if err != nil {
			return fmt.Errorf("pairs, %s: %w", k.ledger, err)
		}
		result.Pairs = append(result.Pairs, row)
	}
	return nil
}

func (w *Webhook) paired(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, k keyed) (row PairRow, err error) {
	if err := prepare(ctx, pool, k.belt); err != nil {
		return row, err
	}
	work, pairs := &fulfilment{}, new(meetings)
	var urls []string
	for range 2 {
		r, closed := k.build(pool, k.key, work.work)
		defer closed()
		if l, looks := r.(LookFirst); looks {
			l.Looked = pairs.looked
			r = l
		}
		e, err := listen(r)
		if err != nil {
			return row, err
		}
		defer e.close()
		urls = append(urls, e.url)
	}
	from := newProvider()
	defer from.close()
	step, ended := bench.Progress("webhook pair: "+k.shortName(), w.Payments)
	defer ended()
	// One pair at a time, for what is measured is how close two deliveries come.
	for range w.Payments {
		if _, err := from.together(ctx, urls, newPayment()[0]); err != nil {
			return row, err
		}
		step()
	}
	row = PairRow{Ledger: k.ledger, Belt: k.belt}
	row.Apart, row.WithinMillisecond = pairs.apart()
	row.Fulfilled, err = work.count(ctx, pool, w.Payments)
	return row, err
}

// meetings lets two deliveries of an event wait for each other, after both have looked.
type meetings struct {
	mu      sync.Mutex
	waiting map[string]*meeting // by event
	gaps    []time.Duration
}

type meeting struct {
	first time.Time
	both  chan struct{}
}

// looked returns when the other delivery of e has looked, too.
func (m *meetings) looked(e Event) {
	now := time.Now()
	m.mu.Lock()
	there := m.waiting[e.ID]
	if there == nil {
		there = &meeting{first: now, both: make(chan struct{})}
		if m.waiting == nil {
			m.waiting = make(map[string]*meeting)
		}
		m.waiting[e.ID] = there
	} else {
		delete(m.waiting, e.ID)
		m.gaps = append(m.gaps, now.Sub(there.first).Abs())
		close(there.both)
	}
	m.mu.Unlock()
	<-there.both
}

func (m *meetings) apart() (a Apart, withinMillisecond int) {
	if len(m.gaps) == 0 {
		return a, 0
	}
	slices.Sort(m.gaps)
	for _, gap := range m.gaps {
		if gap <= time.Millisecond {
			withinMillisecond++
		}
	}
	return Apart{MedianSeconds: m.gaps[len(m.gaps)/2].Seconds(), MostSeconds: m.gaps[len(m.gaps)-1].Seconds()}, withinMillisecond
}
