package idemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Storm sends overlapping duplicates to a handler and judges the answers as its clients do. Handler or URL is required:
//
//	idemtest.Storm{Handler: mux, Request: newCharge, Effects: countCharges}.Run(t)
//
// It goes in rounds. A round has Keys new keys. Each is sent as Copies equal requests, over a connection each and all let go at
// the same instant; when they are answered it is sent once more, and again until it has its answer. The keys of the first round
// go all at once, those of later rounds one after the other, for then their copies meet most closely. The storm ends after the
// first round that finds a fault, after Rounds of them, or when Budget is over, whichever comes first.
//
// A gap between look and write that has a statement or a call in it is found in the first round; one in which nothing but the
// answer is composed, some microseconds, in a tenth of a second or a few. Less than one takes chance, and a longer Budget.
type Storm struct {
	// Handler is served on loopback for the time of the storm. It is all of it: the router, and what stands before and behind.
	Handler http.Handler
	// URL is the server to storm where Handler is nil, such as http://127.0.0.1:8080. Its path does not count.
	URL string
	// Request makes the request for a key; scheme and host of its URL do not count. It is called once a key, and what it made is
	// sent every time, byte for byte. nil: POST of {} to / with the key in Idempotency-Key.
	Request func(key string) *http.Request
	// Effects counts the effects so far, such as the rows of a table of charges. They must become more by one a key, which the
	// answers alone cannot show. It is called before the storm, and at the end of each round when every handler has ended (with
	// URL: when every request is answered). nil: the answers alone are judged.
	Effects func(context.Context) (int, error)
	// Status is that of a first answer. 0: any of 2xx. With 402 a refusal is stormed and must be replayed like any answer.
	Status int
	// Keys is the number of keys in a round. 0: 8.
	Keys int
	// Copies is how many requests for a key go at once. 0: 5.
	Copies int
	// Rounds is how many rounds there are for a handler in which no fault is found. 0: 200.
	Rounds int
	// Budget is the time after which no round begins. 0: 1 s.
	Budget time.Duration
	// Patience is how long a request may take, and for how long a key is sent again. 0: 10 s.
	Patience time.Duration
}

// Run storms and fails t for each fault, in words. The Report is in the log of t too.
func (s Storm) Run(t testing.TB) Report {
	t.Helper()
	report, err := s.Check(t.Context())
	t.Log(report)
	var faults Faults
	switch {
	case errors.As(err, &faults):
		for _, fault := range faults {
			t.Error(fault)
		}
	case err != nil:
		t.Fatal(err)
	}
	return report
}

// Check is Run without a test. Its error is Faults where the handler is to blame, and another where the storm could not be sent.
func (s Storm) Check(ctx context.Context) (Report, error) {
	report, err := s.check(ctx)
	if err != nil && !errors.As(err, new(Faults)) {
		err = fmt.Errorf("idemtest: storm: %w", err)
	}
	return report, err
}

func (s Storm) check(ctx context.Context) (report Report, err error) {
	s = s.withDefaults()
	r := &run{Storm: s, report: &report}
	if r.base, err = url.Parse(s.URL); err != nil {
		return report, err
	}
	switch {
	case s.Handler != nil:
		if r.server, err = serve(s.Handler); err != nil {
			return report, err
		}
		defer r.server.stop(s.Patience)
		r.base = &url.URL{Scheme: "http", Host: r.server.address}
	case r.base.Host == "":
		return report, errors.New("it needs a Handler, or a URL with a host in it")
	}
	r.transport = &http.Transport{DialContext: dialGated, MaxIdleConnsPerHost: s.Keys * s.Copies}
	defer r.transport.CloseIdleConnections()

	began := time.Now()
	defer func() { report.Duration = time.Since(began) }()
	if _, err := r.count(ctx); err != nil {
		return report, err
	}
	for report.Rounds == 0 || report.Rounds < s.Rounds && time.Since(began) < s.Budget {
		if err := r.round(ctx); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (s Storm) withDefaults() Storm {
	if s.Request == nil {
		s.Request = plainRequest
	}
	for field, otherwise := range map[*int]int{&s.Keys: 8, &s.Copies: 5, &s.Rounds: 200} {
		if *field <= 0 {
			*field = otherwise
		}
	}
	for field, otherwise := range map[*time.Duration]time.Duration{&s.Budget: time.Second, &s.Patience: 10 * time.Second} {
		if *field <= 0 {
			*field = otherwise
		}
	}
	return s
}
