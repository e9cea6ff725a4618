package idemhttp

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// transportSend sends one request and returns the answer, with the time that it took.
func transportSend(ctx context.Context, tr *Transport) (*http.Response, time.Duration, error) {
	began := time.Now()
	resp, err := tr.RoundTrip(transportRequest(ctx, "$49"))
	return resp, time.Since(began), err
}

// The zero Transport: 5 tries, 250 ms doubling, each wait drawn evenly below its bound.
func TestTransportTriesFiveTimesWithFullJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var longest [4]time.Duration
		for range 400 {
			busy := transportAnswer(503)
			script := newTransportScript(t, busy, transportFails(errTransportLine), busy, busy, transportAnswer(503, "X-Last", "yes"))
			resp, _, err := transportSend(t.Context(), &Transport{Base: script})
			wantTransportStatus(t, resp, err, 503)
			if resp.Header.Get("X-Last") != "yes" {
				t.Fatal("the answer is not that of the last try")
			}
			script.wantTries(5, "$49")
			for i := range longest {
				longest[i] = max(longest[i], script.seen[i+1].after-script.seen[i].after)
			}
		}
		bound := 250 * time.Millisecond
		for i, wait := range longest {
			if wait >= bound || wait < bound*9/10 {
				t.Errorf("of 400 waits after try %d the longest is %v, the bound %v", i+1, wait, bound)
			}
			bound *= 2
		}
	})
}

func TestTransportWaitsForRetryAfterWhereThatIsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			header []string
			want   time.Duration
		}{
			{[]string{"Retry-After", "7"}, 7 * time.Second},
			{[]string{"Retry-After", "30"}, 30 * time.Second},
			// This server's clock is an hour behind ours.
			{[]string{"Retry-After", "Fri, 31 Dec 1999 23:00:07 GMT", "Date", "Fri, 31 Dec 1999 23:00:00 GMT"}, 7 * time.Second},
		} {
			script := newTransportScript(t, transportAnswer(503, c.header...), transportAnswer(201))
			resp, took, err := transportSend(t.Context(), &Transport{Base: script})
			wantTransportStatus(t, resp, err, 201)
			if took != c.want {
				t.Errorf("%q: waited %v", c.header, took)
			}
		}
		// A shorter one leaves the backoff as it is: some of its waits are longer.
		var longest time.Duration
		for range 50 {
			script := newTransportScript(t, transportAnswer(429, "Retry-After", "1"), transportAnswer(201))
			resp, took, err := transportSend(t.Context(), &Transport{Base: script, MinBackoff: 9 * time.Second})
			wantTransportStatus(t, resp, err, 201)
			if took < time.Second || took >= 9*time.Second {
				t.Errorf("waited %v, between Retry-After and the bound are 1 to 9 s", took)
			}
			longest = max(longest, took)
		}
		if longest < 5*time.Second {
			t.Errorf("the longest of 50 waits below 9 s is %v", longest)
		}
	})
}

func TestTransportDoesNotWaitForALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			wait string
			most time.Duration
		}{{"31", 0}, {"99999999999999999999", 0}, {"Sat, 01 Jan 2000 00:00:31 GMT", 0}, {"3", 2 * time.Second}} {
			script := newTransportScript(t, transportAnswerBody(503, "busy", "Retry-After", c.wait))
			resp, took, err := transportSend(t.Context(), &Transport{Base: script, MaxRetryAfter: c.most})
			if body := wantTransportStatus(t, resp, err, 503); body != "busy" || took != 0 {
				t.Errorf("Retry-After %s: got %q after %v", c.wait, body, took)
			}
			script.wantTries(1, "$49")
		}
	})
}

func TestTransportReturnsWhatThereIsBeforeADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		script := newTransportScript(t, transportAnswerBody(503, "busy", "Retry-After", "7"))
		resp, took, err := transportSend(ctx, &Transport{Base: script})
		if body := wantTransportStatus(t, resp, err, 503); body != "busy" || took != 0 {
			t.Errorf("got %q after %v", body, took)
		}
		script = newTransportScript(t, transportAnswerBody(503, "busy", "Retry-After", "6"), transportAnswer(201))
		resp, took, err = transportSend(ctx, &Transport{Base: script})
		wantTransportStatus(t, resp, err, 201)
		if took != 6*time.Second {
			t.Errorf("waited %v", took)
		}
		// An error, too: one second is left.
		for range 50 {
			tr := &Transport{MinBackoff: time.Hour, MaxBackoff: time.Hour}
			tr.Base = newTransportScript(t, transportFails(errTransportLine), transportAnswer(201))
			resp, took, err = transportSend(ctx, tr)
			if err == nil {
				continue // drew less than a second
			}
			wantTransportError(t, resp, err, 1, errTransportLine)
			if took != 0 {
				t.Errorf("waited %v", took)
			}
			return
		}
		t.Error("50 waits below an hour were each shorter than a second")
	})
}

func TestTransportStopsWaitingWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(reason) })
		script := newTransportScript(t, transportAnswer(503, "Retry-After", "7"))
		resp, took, err := transportSend(ctx, &Transport{Base: script})
		wantTransportError(t, resp, err, 1, reason)
		if took != 2*time.Second {
			t.Errorf("returned after %v", took)
		}
		// Once it has ended nothing is sent.
		resp, _, err = transportSend(ctx, &Transport{Base: newTransportScript(t)})
		wantTransportError(t, resp, err, 0, reason)
	})
}

// The old way of http.Request.Cancel, which http.Client with a Timeout takes too.
func TestTransportStopsWaitingWhenTheRequestIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(stop) })
		r := transportRequest(t.Context(), "$49")
		r.Cancel = stop //lint:ignore SA1019 what is tested
		began := time.Now()
		resp, err := (&Transport{Base: newTransportScript(t, transportFails(errTransportLine)), MinBackoff: 100 * time.Hour, MaxBackoff: 100 * time.Hour}).RoundTrip(r)
		wantTransportError(t, resp, err, 1, errCancelled)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("returned after %v", took)
		}
	})
}

// The end of the context is the end, whatever Retry says and whatever the error looks like.
func TestTransportDoesNotRetryAfterTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		script := newTransportScript(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, errTransportLine
		})
		always := func(*http.Response, error) bool { return true }
		resp, _, err := transportSend(ctx, &Transport{Base: script, Retry: always})
		wantTransportError(t, resp, err, 1, reason)
	})
}

func TestTransportAsksRetryAboutEveryTryButTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		tr := &Transport{Tries: 3, Retry: func(resp *http.Response, err error) bool {
			if err != nil {
				asked = append(asked, 0)
			} else {
				asked = append(asked, resp.StatusCode)
			}
			return true
		}}
		script := newTransportScript(t, transportAnswer(500), transportFails(errTransportLine), transportAnswer(200))
		tr.Base = script
		resp, _, err := transportSend(t.Context(), tr)
		wantTransportStatus(t, resp, err, 200)
		if script.wantTries(3, "$49"); len(asked) != 2 || asked[0] != 500 || asked[1] != 0 {
			t.Errorf("Retry was asked about %v", asked)
		}
		tr.Base = newTransportScript(t, transportAnswer(503))
		tr.Retry = func(*http.Response, error) bool { return false }
		resp, _, err = transportSend(t.Context(), tr)
		wantTransportStatus(t, resp, err, 503)
	})
}
