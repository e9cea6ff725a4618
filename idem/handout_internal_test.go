package idem

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// Whoever does not only read gets a body that nobody else has, and changes it at once: no reader sees that, in whatever order they
// come.
func TestBodyThatIsSharedIsReadByAllWhoHaveIt(t *testing.T) {
	body := []byte(`{"id":"ch_1"}`)
	for _, found := range []bool{true, false} { // the leader found the answer, or recorded it
		for _, leaderReads := range []bool{true, false} {
			for takers := 1; takers <= 4; takers++ {
				for order := range 1 << takers { // bit i: the i-th only reads
					name := fmt.Sprintf("found %t, leader reads %t, takers %0*b", found, leaderReads, takers, order)
					leader := &Response{Body: bytes.Clone(body), Replayed: found, CompletedAt: time.Now()}
					h := newHandout(leader, leaderReads, takers)
					var reading [][]byte
					if found && leaderReads {
						reading = append(reading, leader.Body)
					} else {
						clear(leader.Body) // its memory is used again
					}
					for i := range takers {
						reads := order>>i&1 == 1
						resp := h.take(reads)
						if !resp.Replayed || !bytes.Equal(resp.Body, body) {
							t.Errorf("%s: the %d. got %+v", name, i+1, resp)
						}
						if reads {
							reading = append(reading, resp.Body)
						} else {
							clear(resp.Body)
						}
					}
					for _, b := range reading {
						if !bytes.Equal(b, body) {
							t.Errorf("%s: a reader sees %q", name, b)
						}
					}
				}
			}
		}
	}
}
