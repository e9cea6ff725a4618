package processor

import (
	"fmt"
	"net/http"
)

// Error is an answer that is no Receipt. It is one of the errors below when its Code is (errors.Is).
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"error"`
	ID      string `json:"id,omitempty"` // with ErrDuplicate: the first call's charge or refund
	Message string `json:"message,omitempty"`
}

var (
	ErrUnavailable error = &Error{Status: http.StatusServiceUnavailable, Code: "unavailable"}       // nothing happened, nor will
	ErrDuplicate   error = &Error{Status: http.StatusConflict, Code: "duplicate_key"}               // the key has been used: it has happened, or was declined
	ErrInProgress  error = &Error{Status: http.StatusConflict, Code: "in_progress"}                 // the key's first call is running
	ErrKeyReused   error = &Error{Status: http.StatusUnprocessableEntity, Code: "key_reused"}       // the key has been used for another request
	ErrNoCharge    error = &Error{Status: http.StatusUnprocessableEntity, Code: "no_such_charge"}   // a refund of what was not charged
	ErrBadRequest  error = &Error{Status: http.StatusBadRequest, Code: "bad_request"}               // Message says why
	ErrNothing     error = &Error{Status: http.StatusNotFound, Code: "nothing"}                     // asked: nothing has landed under it
	ErrPending     error = &Error{Status: http.StatusAccepted, Code: "pending"}                     // asked: it has arrived, and may land yet
	ErrCannotAsk   error = &Error{Status: http.StatusNotImplemented, Code: "cannot_be_asked"}       // the processor answers no questions
	ErrFailed      error = &Error{Status: http.StatusInternalServerError, Code: "processor_failed"} // whether it happened is unknown
)

func (e *Error) Error() string {
	text := fmt.Sprintf("processor: %d %s", e.Status, e.Code)
	if e.ID != "" {
		text += " " + e.ID
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is an Error with the same Code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// because is a copy of one of the errors above with a message.
func because(err error, format string, args ...any) error {
	e := *err.(*Error)
	e.Message = fmt.Sprintf(format, args...)
	return &e
}
