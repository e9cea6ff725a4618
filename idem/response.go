package idem

import "time"

// Response is the answer of a call: what the first caller gets, and every later one byte for byte.
type Response struct {
	Status      int                 // 0 to 999, as the caller's protocol has it; 0 where it has none
	Header      map[string][]string // the lines to keep; CR, LF and NUL in values are stored as spaces, as on the wire
	Body        []byte              // kept up to Policy.MaxBody; not copied, so not to be changed once the Store has it
	Failed      bool                // a definitive refusal, such as a declined card: its effect is undone where it is ours, and it replays
	ProviderRef string              // the downstream's own name for the effect, for operators; UTF-8 without NUL

	// Set by the Store.
	Replayed    bool      // this is an earlier call's answer
	BodyDropped bool      // the body was too large or streamed, and a retry cannot have it
	CompletedAt time.Time // when the answer was recorded, by the database's clock
}

// replayed is what a caller gets of r from memory: the same as from the database, sharing nothing with r, or its body alone where
// nobody will change that.
func (r *Response) replayed(shared bool) *Response {
	c := *r
	c.Replayed = true
	c.Header = decodeHeader(encodeHeader(r.Header))
	c.ProviderRef = storable(r.ProviderRef)
	switch {
	case r.BodyDropped:
		c.Body = nil
	case !shared || r.Body == nil:
		c.Body = append([]byte{}, r.Body...)
	}
	return &c
}

// recordedOnly is r where it stands in the database, nil where it does not: only such an answer may be shared.
func recordedOnly(r *Response) *Response {
	if r == nil || r.CompletedAt.IsZero() {
		return nil
	}
	return r
}
