package cleanup

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// keyOf names a request to the product.
func keyOf(endpoint string, r request) idem.Key {
	return idem.Key{Tenant: "lab", Endpoint: endpoint, ID: r.key, Fingerprint: idem.FingerprintOf([]byte(r.key))}
}

func created() *idem.Response { return &idem.Response{Status: 201} }

// atomic is the product's atomic mode: what the work wrote and the claim go together when it fails.
type atomic struct {
	store    *idem.Store
	endpoint string
	work     work
}

func (d atomic) buy(ctx context.Context, r request) answer {
	return answerOf(d.store.Do(ctx, keyOf(d.endpoint, r), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		if err := d.work(ctx, tx, r); err != nil {
			return nil, err
		}
		return created(), nil
	}))
}

// fault is what befalls the first try of work in lease mode.
type fault int

const (
	never       fault = iota
	unreachable       // before the processor has been asked
	lost              // its answer, after it has charged
	killed            // the process, when it has claimed
)

// leased is the product's lease mode, with a processor outside.
type leased struct {
	store     *idem.Store
	endpoint  string
	processor design.Processor
	fault     fault
}

func (h leased) buy(ctx context.Context, r request) answer {
	fault := h.fault
	if r.try > 1 {
		fault = never
	}
	if fault == killed {
		return h.die(ctx, r)
	}
	return answerOf(h.store.Hold(ctx, keyOf(h.endpoint, r), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if fault == unreachable {
			return nil, idem.Transient(errUnreachable)
		}
		err := charge(ctx, h.processor, l.DownstreamKey(chargeStep), r)
		if err == nil && fault == lost {
			err = errNoAnswer
		}
		return created(), err
	}))
}

// chargeStep is what the product knows the charge by.
const chargeStep = "charge"

// die is a process that takes the key and is never heard of again.
func (h leased) die(ctx context.Context, r request) answer {
	process := &idem.Store{Pool: h.store.Pool, Policy: h.store.Policy}
	defer process.Close()
	if _, _, err := process.Claim(ctx, keyOf(h.endpoint, r)); err != nil {
		return answerOf(nil, err)
	}
	return noAnswer
}
