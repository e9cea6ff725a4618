package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// verdict is what became of one key; its words are stable.
type verdict string

const (
	verdictFound    verdict = "found"     // by the command: the key is finished with its answer
	verdictNothing  verdict = "nothing"   // by the command: the key is given back
	verdictPending  verdict = "pending"   // by the command, or it gave none
	verdictTooEarly verdict = "too-early" // not asked: --settle has not passed
	verdictHeld     verdict = "held"      // not asked, or asked in vain: somebody has the key
	verdictMovedOn  verdict = "moved-on"  // it is no longer abandoned
)

func (v verdict) decided() bool {
	return v == verdictFound || v == verdictNothing || v == verdictMovedOn
}

var errInterrupted = errors.New("interrupted")

// reconciled is what --json writes; its names are stable.
type reconciled struct {
	Tenant   string  `json:"tenant"`
	Endpoint string  `json:"endpoint"`
	Key      string  `json:"key"`
	Verdict  verdict `json:"verdict"`
	Error    *string `json:"error"`
}

func (r *reconcile) run(ctx context.Context) (err error) {
	if r.pool, err = r.db.pool(ctx, throughPoolers); err != nil {
		return err
	}
	defer r.pool.Close()
	r.store = &idem.Store{Pool: r.pool}
	defer r.store.Close()
	q := gen.New()
	// a role that may not write down what it does is to hear so before it takes a key
	if _, err := q.OperatorAudit(ctx, r.pool, gen.OperatorAuditParams{}); err != nil {
		return withCure(err)
	}
	keys, err := q.OperatorUnresolved(ctx, r.pool, gen.OperatorUnresolvedParams{
		State: "abandoned", TenantID: r.tenant, Endpoint: r.endpoint, Most: int32(r.most + 1),
	})
	if err != nil {
		return withCure(err)
	}
	err = r.all(ctx, keys[:min(len(keys), r.most)])
	if len(keys) > r.most && !errors.Is(err, errInterrupted) {
		fmt.Fprintf(r.stderr, "idem: there are more; --limit %d was reached\n", r.most)
	}
	return err
}

// all asks about one key after the other.
func (r *reconcile) all(ctx context.Context, keys []gen.OperatorUnresolvedRow) error {
	undecided, progress := 0, newProgress(r.stderr)
	for i, k := range keys {
		progress.show("%d of %s", i+1, count(len(keys), "key"))
		o := operation{tenant: k.TenantID, endpoint: k.Endpoint, key: k.Key, who: r.who}
		f, err := r.one(ctx, &o)
		progress.clear()
		switch {
		case ctx.Err() != nil && !f.verdict.decided():
			return fmt.Errorf("reconcile: %w after %d of %s", errInterrupted, i, count(len(keys), "key"))
		case err != nil:
			return withCure(err)
		}
		if !f.verdict.decided() {
			undecided++
		}
		if err := r.print(&o, f); err != nil {
			return err
		}
	}
	if undecided > 0 {
		return fmt.Errorf("%s not decided", count(undecided, "key"))
	}
	return nil
}

// one asks about one key and does what the verdict says, with its row in idem.audit.
func (r *reconcile) one(ctx context.Context, o *operation) (finding, error) {
	f, err := r.ask(ctx, o)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // what is known is written
	defer cancel()
	var changed int64
	switch f.verdict {
	case verdictFound:
		o.reason = "reconcile: the command found it"
		changed, err = f.answer.record(ctx, r.pool, o, f.seen, r.retention)
	case verdictNothing:
		o.reason = "reconcile: the command found nothing"
		changed, err = o.release(ctx, r.pool, f.seen)
	default:
		return f, nil
	}
	if err == nil && changed == 0 {
		f.verdict, err = r.standing(ctx, o, verdictPending)
	}
	return f, err
}

func (r *reconcile) print(o *operation, f finding) error {
	if r.json {
		line := reconciled{Tenant: o.tenant, Endpoint: o.endpoint, Key: o.key, Verdict: f.verdict}
		if f.why != nil {
			line.Error = textOrNull(f.why.Error())
		}
		return printJSON(r.out, line)
	}
	text := fmt.Sprintf("%s: %s %s %s", f.verdict, safe(o.tenant), safe(o.endpoint), safe(o.key))
	if f.why != nil {
		text += ": " + safe(f.why.Error())
	}
	_, err := fmt.Fprintln(r.out, text)
	return err
}
