package processor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

var (
	payment = processor.Request{AmountCents: 49_00, Card: "4242424242424242", Reference: "order 1"}
	ctx     = context.Background()
)

// bundle is a processor on a database and a server of its own.
type bundle struct {
	processor.Client
	t    *testing.T
	pool *pgxpool.Pool
	p    *processor.Processor
}

func setup(t *testing.T, behaviour processor.Behaviour) *bundle {
	t.Helper()
	pool := testdb.New(t)
	if err := processor.Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return on(t, pool, behaviour)
}

// on is one more processor on a database: another process, as far as they can tell.
func on(t *testing.T, pool *pgxpool.Pool, behaviour processor.Behaviour) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: pool, p: &processor.Processor{Pool: pool, Behaviour: behaviour}}
	server := httptest.NewServer(b.p)
	t.Cleanup(func() {
		if err := b.p.Become(processor.Behaviour{}); err != nil { // what is held lands
			t.Error(err)
		}
		server.Close()
	})
	b.Client = processor.Client{URL: server.URL, HTTP: server.Client()}
	return b
}

// raw sends a request as it is and returns the answer with its body read.
func (b *bundle) raw(method, path, body string, header ...string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := b.HTTP.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response, string(bytes.TrimSpace(text))
}

// charge charges, and nothing goes wrong.
func (b *bundle) charge(key string) *processor.Receipt {
	b.t.Helper()
	receipt, err := b.Charge(ctx, key, payment)
	if err != nil {
		b.t.Fatal(err)
	}
	return receipt
}

// outcome is what a call that runs beside the test came to.
type outcome struct {
	receipt *processor.Receipt
	err     error
}

// beside charges while the test goes on.
func (b *bundle) beside(ctx context.Context, key string, r processor.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		receipt, err := b.Charge(ctx, key, r)
		done <- outcome{receipt, err}
	}()
	return done
}

func (b *bundle) become(behaviour processor.Behaviour) {
	b.t.Helper()
	if err := b.Become(ctx, behaviour); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) stats() processor.Stats {
	b.t.Helper()
	stats, err := b.Stats(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return stats
}

// until returns once the stats are as wanted.
func (b *bundle) until(what string, ok func(processor.Stats) bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(b.stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("it never comes about that %s: %+v", what, b.stats())
		}
	}
}

// untilPending returns once n calls have arrived and not landed.
func (b *bundle) untilPending(n int64) {
	b.t.Helper()
	b.until("calls are pending", func(s processor.Stats) bool { return s.Pending == n })
}

// wantCharges holds the processor to so many charges, and so many of them for a payment that had one.
func (b *bundle) wantCharges(charges, duplicates int64) {
	b.t.Helper()
	stats, err := b.Landed(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	if stats.Charges != charges || stats.Duplicates != duplicates {
		b.t.Errorf("%d charges, %d of them duplicates; want %d and %d", stats.Charges, stats.Duplicates, charges, duplicates)
	}
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got %v, want %v", err, target)
	}
}
