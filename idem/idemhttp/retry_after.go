package idemhttp

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// retryAfter is how long an answer asks to wait (RFC 9110, 10.2.3), 0 where it asks for nothing or for nothing that can be read.
// A date is measured against the answer's own Date, so that the two machines' clocks need not agree; without one, against ours.
func retryAfter(header http.Header) time.Duration {
	text := strings.Trim(header.Get("Retry-After"), " \t")
	if wait, ok := seconds(text); ok {
		return wait
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// seconds reads digits alone. More than a Duration can hold is its largest.
func seconds(text string) (wait time.Duration, ok bool) {
	const most = time.Duration(math.MaxInt64)
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if wait > (most-9*time.Second)/10 {
			wait = most
			continue
		}
		wait = wait*10 + time.Duration(c-'0')*time.Second
	}
	return wait, text != ""
}
