package model

import "github.com/pgidem/pgidem/idem"

// do is atomic mode: the effect, which is a row, and the answer are one.
func (k key) do(in Operation, out Result) (key, bool) {
	free := k.isFree(in.Request)
	switch out.Outcome {
	case First:
		return k.live(in).untold(in.Token).finish(in.Answer).insert(in.Row), free && out.Answer == in.Answer
	case Failed:
		return k, free
	case Unknown: // a key of lease mode is never taken over
		return k, k.request == in.Request && k.isAbandoned(out.At, 0)
	case Unfinished:
		if free {
			return k.live(in).untold(in.Token).finish(in.Answer).insert(in.Row), true
		}
		return k, true
	}
	return k, k.refuses(in, out)
}

// claim is lease mode until the work starts, or until a resolver asks.
func (k key) claim(in Operation, out Result) (key, bool) {
	free := k.isFree(in.Request)
	over := k.request == in.Request && in.Stale != idem.StaleRefuse && k.isAbandoned(out.At, in.Settle)
	switch out.Outcome {
	case Granted:
		if free {
			return k.live(in).told(out)
		}
		next, ok := k.takeOver(in).told(out)
		return next, ok && over && !in.resolves()
	case Displaced:
		next := k.displace(in)
		ok := next.attempt == out.Attempt && (k.fence == out.Fence || k.fence < 0 && out.Fence > k.top)
		next.fence, next.top = out.Fence, max(k.top, out.Fence)
		return next, ok && over && in.resolves()
	case Unfinished:
		switch {
		case free:
			return k.live(in).untold(in.Token), true
		case over && in.resolves():
			return k.displace(in), true
		case over:
			return k.takeOver(in).untold(in.Token), true
		}
		return k, true
	case Unknown:
		return k, in.Stale == idem.StaleRefuse && k.request == in.Request && k.isAbandoned(out.At, 0)
	}
	return k, k.refuses(in, out)
}

// resolves reports whether an abandoned key is taken to ask about it, and not yet to run.
func (o Operation) resolves() bool { return o.Stale == idem.StaleResolve && !o.Stepped }

// takeOver gives the key to a claim under a higher fence.
func (k key) takeOver(in Operation) key {
	k.attempt++
	k.given = true
	return k.take(in)
}

// displace gives the key to a resolver under the same fence, so that the old holder can still complete.
func (k key) displace(in Operation) key { return k.takeOver(in) }

// refuses are the answers to a claim that change nothing.
func (k key) refuses(in Operation, out Result) bool {
	switch out.Outcome {
	case Contended, Unavailable:
		return true
	case InFlight: // a rival's transaction may be open, and its row is not seen
		return !k.answers()
	case Mismatch:
		return k.status != none && !k.isFree(in.Request) && k.request != in.Request
	case Replayed:
		return k.answers() && k.request == in.Request && k.answer == out.Answer
	}
	return false
}

// decide is what becomes of a resolver's verdict. The displaced holder may have completed before it.
func (k key) decide(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	raised := k
	raised.given, raised.lapse = false, in.At+in.Lease
	switch out.Outcome {
	case Granted:
		next, ok := raised.told(out)
		return next, ok && mine && in.Verdict == idem.Nothing
	case First:
		return k.finish(in.Answer), mine && in.Verdict == idem.Found && out.Answer == in.Answer && in.Answer == k.due(in)
	case Replayed:
		return k, in.Verdict != idem.Pending && k.refuses(in, out)
	case LeaseLost:
		return k, !mine
	case Unknown:
		if mine {
			k = k.abandon(in)
		}
		return k, in.Verdict == idem.Pending
	case Unfinished:
		switch {
		case mine && in.Verdict == idem.Nothing:
			return raised.untold(in.Token), true
		case mine && in.Verdict == idem.Found:
			return k.finish(in.Answer), true
		case mine:
			return k.abandon(in), true
		}
		return k, true
	}
	return k, false
}
