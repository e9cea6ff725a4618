package idem

import "sync/atomic"

// handout is an answer for callers that waited for it in memory. Each takes it in its own goroutine.
type handout struct {
	answer *Response
	users  atomic.Int32 // of its body: who has not taken it yet, and who reads it
}

// newHandout is the leader's answer for a number of others. It is a copy, because the leader may use the body's memory again,
// unless the leader only reads it too and it was found, so nobody else's.
func newHandout(answer *Response, leaderReads bool, takers int) *handout {
	shared := leaderReads && answer.Replayed
	h := &handout{answer: answer.replayed(shared)}
	if shared {
		takers++
	}
	h.users.Store(int32(takers))
	return h
}

// take is one caller's answer: a copy, but for a caller that only reads the body, and the last one, which gets what is left over.
func (h *handout) take(reads bool) *Response {
	if reads {
		return h.answer.replayed(true) // and stays one of the users
	}
	if h.users.Load() == 1 {
		return h.answer
	}
	own := h.answer.replayed(false)
	h.users.Add(-1)
	return own
}
