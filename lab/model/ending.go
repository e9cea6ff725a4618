package model

// complete records the answer. It names the fence alone: a holder whom a resolver displaced can still complete.
func (k key) complete(in Operation, out Result) (key, bool) {
	fits := k.status == held && k.fence == in.Fence
	completed := k.finish(in.Answer).insert(in.Row)
	switch out.Outcome {
	case OK:
		return completed, fits && in.Answer == k.due(in)
	case LeaseLost:
		return k, !fits
	case Replayed: // the answer of whoever completed it instead
		return k, k.refuses(in, out)
	case Unfinished:
		if fits {
			return completed, true
		}
		return k, true
	}
	return k, false
}

// prolong is Lease.Extend.
func (k key) prolong(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	switch out.Outcome {
	case OK:
		return k.extend(in), mine
	case LeaseLost:
		return k, !mine
	case Unfinished:
		if mine {
			return k.extend(in), true
		}
		return k, true
	}
	return k, false
}

// release is Lease.Release: it leaves the key unknown where something may have happened.
func (k key) release(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	clean := in.Calls == 0 && !k.given && !k.hasBegun()
	switch out.Outcome {
	case OK:
		return k.free(), mine && clean
	case LeaseLost:
		return k, !mine
	case Unknown:
		if mine {
			k = k.abandon(in)
		}
		return k, !mine || !clean
	case Unfinished:
		return k.endHeld(in, clean)
	}
	return k, false
}

// giveBack is what Hold does after an error that came before any effect. Whether it gave the key back it does not tell.
func (k key) giveBack(in Operation) (key, bool) {
	return k.endHeld(in, in.Calls <= 1 && !k.given && !k.hasBegun())
}

// end is Lease.Abandon, which always succeeds.
func (k key) end(in Operation) (key, bool) { return k.endHeld(in, false) }

func (k key) endHeld(in Operation, clean bool) (key, bool) {
	switch mine := k.isHeldBy(in.Token); {
	case mine && clean:
		return k.free(), true
	case mine:
		return k.abandon(in), true
	}
	return k, true
}

// free gives the key back with the steps that are recorded.
func (k key) free() key {
	k.status, k.holder = released, 0
	return k
}
