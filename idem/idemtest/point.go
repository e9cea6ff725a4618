package idemtest

// Point is where Drop hangs up. Until InHandler the connection is closed: the server gets what was sent, and then its end (FIN).
type Point int

const (
	// AfterHeaders: nothing of the body is sent.
	AfterHeaders Point = iota
	// HalfBody: half of the body is sent.
	HalfBody
	// AfterRequest: all is sent, and h has begun. The client that loses patience, and the first thing to try.
	AfterRequest
	// InHandler: where h, or what it calls, calls HangUp.
	InHandler
	// InAnswer: the first byte of the answer has come. The connection is reset (RST), as it is for a process that ends with
	// unread data. The buffers on the way are small, so that a handler which writes some 100 KiB is still at it.
	InAnswer
)
