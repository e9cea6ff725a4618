package model

// age moves the end of the lease into the past.
func (k key) age(out Result) (key, bool) {
	switch out.Outcome {
	case OK:
		was := k.status
		k.lapse = past
		return k, was == held
	case None:
		return k, k.status != held
	case Unfinished:
		if k.status == held {
			k.lapse = past
		}
		return k, true
	}
	return k, false
}

// expire moves the end of the retention into the past.
func (k key) expire(out Result) (key, bool) {
	expires := k.status == finished || k.status == released && !k.isStepped()
	switch out.Outcome {
	case OK:
		k.expired = true
		return k, expires
	case None:
		return k, !expires || k.swept
	case Unfinished:
		k.expired = k.expired || expires
		return k, true
	}
	return k, false
}

// sweep may delete what has expired, and is seen by nobody who does not look for the row.
func (k key) sweep() (key, bool) {
	if k.expired {
		k.swept = true
	}
	return k, true
}

// settle is an operator's answer to a key that nobody holds.
func (k key) settle(in Operation, out Result) (key, bool) {
	fits := k.isAbandoned(out.At, 0) || k.status == released
	switch out.Outcome {
	case OK:
		return k.finish(in.Answer), fits
	case None: // the key had moved on since it was seen
		return k, true
	case Unfinished:
		if fits {
			return k.finish(in.Answer), true
		}
		return k, true
	}
	return k, false
}

// operatorRelease gives an abandoned key back: its begun steps go, and its fence rises.
func (k key) operatorRelease(in Operation, out Result) (key, bool) {
	fits := k.isAbandoned(out.At, 0)
	next := k.free().untold(in.Token)
	for i, s := range next.steps {
		if s == begun {
			next.steps[i] = ""
		}
	}
	switch out.Outcome {
	case OK:
		return next, fits
	case None:
		return k, true
	case Unfinished:
		if fits {
			return next, true
		}
		return k, true
	}
	return k, false
}
