package model

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// pocket is a lease that a client has at hand over several of its actions. Nobody extends it; time passes, and others may take its
// key meanwhile.
type pocket struct {
	lease   lease
	in      Operation // of its claim
	outputs []string  // of its steps so far, or of its one call
	calls   int       // of the downstream, and steps
}

// isDone reports whether the work is done and its answer can be recorded.
func (p *pocket) isDone() bool {
	return len(p.outputs) == Steps || !p.in.Stepped && len(p.outputs) == 1
}

// useLease takes the key, or does something with the lease that the process has on it.
func (t *turn) useLease() {
	p := t.process.pockets[t.subject.id]
	if p == nil {
		t.takeLease()
		return
	}
	t.in = p.in
	switch c := t.action.choice; {
	case c < 3 && p.isDone():
		t.drop()
		t.completeLease(p)
	case c < 7 && p.isDone():
		t.drop()
		t.completeLeaseTx(p)
	case c < 7 && p.in.Stepped && !p.isDone():
		t.nextStep(p)
	case c < 8 && !p.in.Stepped || c == 7:
		e := t.open(t.under(Extend))
		t.close(e, ended(p.lease.Extend(t.ctx)))
	case c == 8:
		t.drop()
		in := t.under(Release)
		in.Calls = p.calls
		e := t.open(in)
		t.close(e, ended(p.lease.Release(t.ctx)))
	default:
		t.drop()
		e := t.open(t.under(Abandon))
		t.close(e, ended(p.lease.Abandon(t.ctx)))
	}
}

func (t *turn) drop() { delete(t.process.pockets, t.subject.id) }

// takeLease is Claim. Where the work is one call it may be done at once, so that its record comes late.
func (t *turn) takeLease() {
	l, resp, err := t.protocol().Claim(t.ctx, t.claims())
	if l == nil {
		t.close(t.taking, told(resp, err))
		return
	}
	t.granted(l)
	p := &pocket{lease: l, in: t.in}
	if !t.in.Stepped && t.action.choice < 6 {
		p.calls = 1
		output, err := t.subject.processor.call(t, l.DownstreamKey(stepNames[0]), t.in, t.action.ending == declines)
		if err == nil {
			p.outputs = []string{output}
		}
	}
	t.process.pockets[t.subject.id] = p
}

func (t *turn) nextStep(p *pocket) {
	p.calls++
	output, err := t.step(p.lease, len(p.outputs), t.action.ending)
	if err == nil {
		p.outputs = append(p.outputs, output)
	}
}

func (t *turn) completeLease(p *pocket) {
	in := t.under(Complete)
	in.Answer = strings.Join(p.outputs, "+")
	e := t.open(in)
	t.close(e, ended(p.lease.Complete(t.ctx, answer(in.Answer, strings.HasPrefix(in.Answer, "declined")))))
}

// completeLeaseTx completes in a transaction of the user's, with a row of its own.
func (t *turn) completeLeaseTx(p *pocket) {
	in := t.under(CompleteTx)
	in.Answer = strings.Join(p.outputs, "+")
	in.Row = Output("noted", in.Request, in.Token)
	e := t.open(in)
	err := pgx.BeginFunc(t.ctx, t.process.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.ctx, insertSQL, t.subject.tenant, t.subject.id, in.Row); err != nil {
			return err
		}
		t.linger(t.action.after)
		return p.lease.CompleteTx(t.ctx, tx, answer(in.Answer, strings.HasPrefix(in.Answer, "declined")))
	})
	t.close(e, ended(err))
}
