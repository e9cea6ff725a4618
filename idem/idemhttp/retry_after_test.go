package idemhttp

import (
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Inside synctest it is midnight, 1 January 2000.
func TestRetryAfterIsReadInBothForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			text, date string
			want       time.Duration
		}{
			{"", "", 0},
			{"0", "", 0},
			{"7", "", 7 * time.Second},
			{" 7 ", "", 7 * time.Second},
			{"007", "", 7 * time.Second},
			{"7", "Sat, 01 Jan 2000 09:00:00 GMT", 7 * time.Second},
			{"99999999999999999999999999", "", math.MaxInt64},
			{"922337203", "", 922337203 * time.Second},
			{"9223372036854", "", math.MaxInt64},
			{"-7", "", 0}, {"+7", "", 0}, {"1.5", "", 0}, {"7s", "", 0}, {"soon", "", 0},
			// Dates are measured against the answer's own, whatever our clock says.
			{"Sat, 01 Jan 2000 00:00:09 GMT", "", 9 * time.Second},
			{"Sat, 01 Jan 2000 00:00:09 GMT", "nonsense", 9 * time.Second},
			{"Sat, 01 Jan 2000 09:00:09 GMT", "Sat, 01 Jan 2000 09:00:00 GMT", 9 * time.Second},
			{"Fri, 31 Dec 1999 20:00:09 GMT", "Fri, 31 Dec 1999 20:00:00 GMT", 9 * time.Second},
			{"Saturday, 01-Jan-00 00:00:09 GMT", "", 9 * time.Second},
			{"Sat Jan  1 00:00:09 2000", "", 9 * time.Second},
			{"Fri, 31 Dec 1999 23:00:00 GMT", "", 0},
			{"Sat, 01 Jan 2000 00:00:09 GMT", "Sat, 01 Jan 2000 00:01:00 GMT", 0},
		} {
			h := http.Header{"Retry-After": {c.text}, "Date": {c.date}}
			if got := retryAfter(h); got != c.want {
				t.Errorf("Retry-After %q at %q: %v, want %v", c.text, c.date, got, c.want)
			}
		}
	})
}
