package idem_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// P2 Same answer. Every later caller gets the first answer: status, kept headers and body byte for byte, or is told that the
// body was not kept.
func TestP2SameAnswer(t *testing.T) {
	b := setup(t)
	policy := patient
	policy.MaxBody = 1000
	for _, test := range []struct {
		name   string
		answer idem.Response
	}{
		{"NUL and bytes that are no text", idem.Response{Status: 200, Body: []byte("%PDF\x00\xff\xfe\x00")}},
		{"escaped NUL in JSON", idem.Response{Status: 200, Body: []byte("{\"note\":\"a\\u0000b\"}")}},
		{"key order, blanks and the last newline", idem.Response{Status: 201, Body: []byte("{\"z\":1,  \"a\":1.0}\n")}},
		{"integers beyond 2^53", idem.Response{Status: 200, Body: []byte("{\"id\":9007199254740993}")}},
		{"Latin-1 in a header", idem.Response{Status: 200, Header: map[string][]string{"X-City": {"M\xfcnchen"}}}},
		{"two Link lines", idem.Response{Status: 200, Header: map[string][]string{"Link": {"</2>; rel=next", "</0>; rel=prev"}}}},
		{"several headers", idem.Response{Status: 201, Header: map[string][]string{
			"Location": {"/charges/1"}, "Etag": {`"a"`}, "Content-Type": {"application/json; charset=utf-8"}, "X-Empty": {""}, "X-Colon": {"a: b: c"},
		}}},
		{"all byte values", idem.Response{Status: 200, Body: everyByte()}},
		{"no body", idem.Response{Status: 204}},
		{"empty body", idem.Response{Status: 200, Body: []byte{}}},
		{"no status", idem.Response{Body: []byte("ok")}},
		{"nothing at all", idem.Response{}},
		{"body at the cap", idem.Response{Status: 200, Body: bytes.Repeat([]byte("x"), 1000)}},
		{"body over the cap", idem.Response{Status: 200, Body: bytes.Repeat([]byte("x"), 1001), BodyDropped: true}},
		{"streamed", idem.Response{Status: 200, BodyDropped: true}},
		{"the downstream's reference", idem.Response{Status: 200, ProviderRef: "ch_1"}},
		{"a definitive refusal", idem.Response{Status: 402, Body: []byte(`{"decline":"insufficient_funds"}`), Failed: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for mode, call := range modes {
				t.Run(mode, func(t *testing.T) {
					b := b.on(t)
					store, key := b.newStore(policy), b.key("k")
					given := clone(test.answer)
					first, err := call(b.ctx, store, key, func() *idem.Response { return given })
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(&test.answer, first, sameAnswer); diff != "" {
						t.Errorf("the first caller's answer is not the work's (-work +first):\n%s", diff)
					}
					want := replayOf(&test.answer)
					if want.BodyDropped {
						want.Body = nil
					}
					for _, later := range []*idem.Store{store, b.newStore(policy)} {
						again, err := call(b.ctx, later, key, func() *idem.Response { t.Error("the work ran again"); return nil })
						if err != nil {
							t.Fatal(err)
						}
						if diff := cmp.Diff(want, again, sameAnswer); diff != "" {
							t.Errorf("a later caller got another answer (-first +later):\n%s", diff)
						}
						if !again.CompletedAt.Equal(first.CompletedAt) || first.CompletedAt.IsZero() {
							t.Errorf("CompletedAt: first %v, later %v; want the same", first.CompletedAt, again.CompletedAt)
						}
					}
				})
			}
		})
	}
}

// modes are the three ways to run work that answers at once.
var modes = map[string]func(context.Context, *idem.Store, idem.Key, func() *idem.Response) (*idem.Response, error){
	"Do": func(ctx context.Context, s *idem.Store, key idem.Key, answer func() *idem.Response) (*idem.Response, error) {
		return s.Do(ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return answer(), nil })
	},
	"DoTx": func(ctx context.Context, s *idem.Store, key idem.Key, answer func() *idem.Response) (resp *idem.Response, err error) {
		err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) (err error) {
			resp, err = s.DoTx(ctx, tx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return answer(), nil })
			return err
		})
		return resp, err
	},
	"Hold": func(ctx context.Context, s *idem.Store, key idem.Key, answer func() *idem.Response) (*idem.Response, error) {
		return s.Hold(ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return answer(), nil })
	},
}

func clone(r idem.Response) *idem.Response {
	r.Body = bytes.Clone(r.Body)
	r.Header = maps.Clone(r.Header)
	for name, values := range r.Header {
		r.Header[name] = slices.Clone(values)
	}
	return &r
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// A caller that waited in memory gets what the database would have given it, also where the answer cannot be kept as it is.
func TestP2SameAnswerInMemoryAndFromTheDatabase(t *testing.T) {
	b := setup(t)
	for name, answer := range map[string]*idem.Response{
		"as it is":                           created(),
		"line breaks and blanks in a header": {Status: 200, Header: map[string][]string{"X-Note": {" a\r\nb\x00c "}}},
		"a header that is no token":          {Status: 200, Header: map[string][]string{"X Note": {"a"}, "Kept": {"b"}}},
		"a header without values":            {Status: 200, Header: map[string][]string{"X-Note": {}}},
		"a reference that is no text":        {Status: 200, ProviderRef: "ch\x00\xff"},
		"a body over the cap":                {Status: 200, Body: bytes.Repeat([]byte("x"), 1<<20+1)},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			leader := b.session("leader")
			waiter := b.sharing("waiter", leader.store)
			later := b.session("later")
			b.inOrder(
				leader.does(key, func(context.Context, pgx.Tx) (*idem.Response, error) { return answer, nil }),
				leader.works(),
				waiter.does(key, mustNotRun(t)),
				b.queued(leader.store, key, 1),
				leader.goesOn(),
				do("waiter ends", waiter.wait),
				later.does(key, mustNotRun(t)),
				do("later ends", later.wait),
			)
			if waiter.err != nil || later.err != nil {
				t.Fatal(waiter.err, later.err)
			}
			if diff := cmp.Diff(later.resp, waiter.resp, sameAnswer); diff != "" {
				t.Errorf("-database +memory:\n%s", diff)
			}
		})
	}
}

// P3 No wrong answer. A key reused for another request, tenant or endpoint never gets the first one's answer, nor learns that
// it exists when it belongs to another tenant.
func TestP3NoWrongAnswer(t *testing.T) {
	b := setup(t)
	fp := idem.FingerprintOf([]byte("$49.00"))
	first := idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "k", Fingerprint: fp}
	byTenant, byEndpoint := b.newStore(idem.Policy{Scope: idem.ScopeTenant}), b.newStore(idem.Policy{})
	mustRun := func(t *testing.T, s *idem.Store, key idem.Key) {
		t.Helper()
		resp, err := s.Do(b.ctx, key, charge(key.ID))
		if err != nil || resp.Replayed {
			t.Fatalf("got %+v, %v; want a first answer", resp, err)
		}
	}
	mustRun(t, byEndpoint, first)

	t.Run("another request is a mismatch", func(t *testing.T) {
		for _, other := range []idem.Fingerprint{idem.FingerprintOf([]byte("$9000.00")), idem.FingerprintOf(), fp[:32]} {
			key := first
			key.Fingerprint = other
			resp, err := byEndpoint.Do(b.ctx, key, mustNotRun(t))
			wantIs(t, err, idem.ErrMismatch)
			if resp != nil {
				t.Errorf("a mismatch came with an answer: %+v", resp)
			}
			if _, helps := idem.RetryAfter(err); helps {
				t.Error("a mismatch never goes away, and has a RetryAfter")
			}
			_, err = byEndpoint.Hold(b.ctx, key, holdMustNotRun(t))
			wantIs(t, err, idem.ErrMismatch)
		}
	})
	for name, key := range map[string]idem.Key{
		"another tenant":                         {Tenant: "T2", Endpoint: "POST /charges", ID: "k", Fingerprint: fp},
		"another tenant with another request":    {Tenant: "T3", Endpoint: "POST /charges", ID: "k", Fingerprint: idem.FingerprintOf([]byte("x"))},
		"a tenant in other letters":              {Tenant: "t1", Endpoint: "POST /charges", ID: "k", Fingerprint: fp},
		"a tenant with a blank":                  {Tenant: "T1 ", Endpoint: "POST /charges", ID: "k", Fingerprint: fp},
		"another endpoint":                       {Tenant: "T1", Endpoint: "POST /refunds", ID: "k", Fingerprint: fp},
		"a key in other letters":                 {Tenant: "T1", Endpoint: "POST /charges", ID: "K", Fingerprint: fp},
		"a key in another normal form (NFC)":     {Tenant: "T1", Endpoint: "POST /charges", ID: "\u00e9", Fingerprint: fp},
		"a key in another normal form (NFD)":     {Tenant: "T1", Endpoint: "POST /charges", ID: "e\u0301", Fingerprint: fp},
		"a separator in the tenant":              {Tenant: "a:b", Endpoint: "POST /charges", ID: "c", Fingerprint: fp},
		"a separator in the key":                 {Tenant: "a", Endpoint: "POST /charges", ID: "b:c", Fingerprint: fp},
		"a separator between tenant and end":     {Tenant: "a", Endpoint: "b", ID: "c/d", Fingerprint: fp},
		"a separator between end and key":        {Tenant: "a", Endpoint: "b/c", ID: "d", Fingerprint: fp},
		"an endpoint that stands for all others": {Tenant: "T1", Endpoint: "*", ID: "k", Fingerprint: fp},
	} {
		t.Run(name+" is another key", func(t *testing.T) { mustRun(t, byEndpoint, key) })
	}
	t.Run("ScopeTenant: the same key at another endpoint is a mismatch", func(t *testing.T) {
		charges := idem.Key{Tenant: "T9", Endpoint: "POST /charges", ID: "k", Fingerprint: fp}
		mustRun(t, byTenant, charges)
		refunds := charges
		refunds.Endpoint = "POST /refunds"
		_, err := byTenant.Do(b.ctx, refunds, mustNotRun(t))
		wantIs(t, err, idem.ErrMismatch)
		if again, err := byTenant.Do(b.ctx, charges, mustNotRun(t)); err != nil || !again.Replayed {
			t.Errorf("the endpoint's own retry got %+v, %v; want a replay", again, err)
		}
		other := charges
		other.Tenant = "T8"
		mustRun(t, byTenant, other)
	})
	t.Run("AnyRequest skips the comparison on purpose, and only the caller's does", func(t *testing.T) {
		anyone := first
		anyone.Fingerprint = idem.AnyRequest
		if again, err := byEndpoint.Do(b.ctx, anyone, mustNotRun(t)); err != nil || !again.Replayed {
			t.Errorf("got %+v, %v; want a replay", again, err)
		}
		anyone.ID = "stored as any"
		mustRun(t, byEndpoint, anyone)
		anyone.Fingerprint = fp
		_, err := byEndpoint.Do(b.ctx, anyone, mustNotRun(t))
		wantIs(t, err, idem.ErrMismatch)
	})
	t.Run("a mismatch says nothing of the first request", func(t *testing.T) {
		secret := idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "secret", Fingerprint: fp, Request: "card 4242"}
		mustRun(t, byEndpoint, secret)
		secret.Fingerprint, secret.Request = idem.FingerprintOf([]byte("x")), ""
		_, err := byEndpoint.Do(b.ctx, secret, mustNotRun(t))
		for _, leak := range []string{"4242", "secret", "ch_1", "/charges/1"} {
			if strings.Contains(err.Error(), leak) {
				t.Errorf("%q holds %q", err, leak)
			}
		}
	})
}

// A mismatch is told before anything else about an unfinished key, so that no policy lets another request in.
func TestP3MismatchComesBeforeTheStateOfTheKey(t *testing.T) {
	b := setup(t)
	rerun := b.newStore(idem.Policy{Retention: time.Hour, Stale: idem.StaleRerun, Wait: -1})
	for state, prepare := range map[string]func(idem.Key, *idem.Lease) error{
		"held":      func(idem.Key, *idem.Lease) error { return nil },
		"abandoned": func(_ idem.Key, l *idem.Lease) error { return l.Abandon(b.ctx) },
		"finished":  func(_ idem.Key, l *idem.Lease) error { return l.Complete(b.ctx, created()) },
		"released with steps": func(key idem.Key, l *idem.Lease) error {
			b.insertStep(key, "capture")
			return l.Release(b.ctx)
		},
	} {
		t.Run(state, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease, _, err := rerun.Claim(b.ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			if err := prepare(key, lease); err != nil {
				t.Fatal(err)
			}
			before := b.row(key)
			key.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
			_, _, err = rerun.Claim(b.ctx, key)
			wantIs(t, err, idem.ErrMismatch)
			_, err = rerun.Do(b.ctx, key, mustNotRun(t))
			wantIs(t, err, idem.ErrMismatch)
			if after := b.row(key); after != before {
				t.Errorf("a mismatch changed the row:\n%s\n%s", before, after)
			}
		})
	}
}

// A key whose fingerprint was stored by another version says so, and the caller asks once more with that version.
func TestP3StoredFingerprintOfAnotherVersionIsNamed(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	if _, err := b.store.Do(b.ctx, key, charge("k")); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE idem.keys SET fingerprint = set_byte(fingerprint, 0, 9)")
	_, err := b.store.Do(b.ctx, key, mustNotRun(t))
	wantIs(t, err, idem.ErrMismatch)
	if v := keyError(t, err).FingerprintVersion; v != 9 {
		t.Errorf("FingerprintVersion = %d, want 9", v)
	}
	key.Fingerprint = "\x09" + key.Fingerprint[1:]
	if again, err := b.store.Do(b.ctx, key, mustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
}
