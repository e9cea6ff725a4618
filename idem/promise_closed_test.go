package idem_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// P5 Fail closed. When the database cannot say who owns the key, the handler does not run.
func TestP5FailClosed(t *testing.T) {
	b := setup(t)
	for name, broken := range map[string]func(*bundle) *idem.Store{
		"nobody listens": func(b *bundle) *idem.Store {
			u, err := url.Parse(b.pool.Config().ConnString())
			if err != nil {
				t.Fatal(err)
			}
			u.Host = "127.0.0.1:1"
			return storeOn(b.t, testdb.Pool(b.t, u.String()))
		},
		"the role may only read": func(b *bundle) *idem.Store {
			return b.process(idem.Policy{}, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on" })
		},
		"there is no schema": func(b *bundle) *idem.Store {
			return storeOn(b.t, testdb.Pool(b.t, testdb.Empty(b.t)))
		},
		"the connection dies in every claim": func(b *bundle) *idem.Store {
			b.exec(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
			b.execAsOwner("CREATE TRIGGER claims_die BEFORE INSERT ON idem.keys FOR EACH STATEMENT EXECUTE FUNCTION die()")
			b.t.Cleanup(func() { b.execAsOwner("DROP TRIGGER claims_die ON idem.keys") })
			return b.newStore(idem.Policy{})
		},
		"the claim's statement fails": func(b *bundle) *idem.Store {
			b.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left'; END $$`)
			b.execAsOwner("CREATE TRIGGER claims_fail BEFORE INSERT ON idem.keys FOR EACH STATEMENT EXECUTE FUNCTION fail()")
			b.t.Cleanup(func() { b.execAsOwner("DROP TRIGGER claims_fail ON idem.keys") })
			return b.newStore(idem.Policy{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			failsClosed(t, broken(b), b.key("k"))
			if row := b.row(b.key("k")); row != "" {
				t.Errorf("a key is left: %s", row)
			}
		})
	}
}

func storeOn(t *testing.T, pool *pgxpool.Pool) *idem.Store {
	s := &idem.Store{Pool: pool}
	t.Cleanup(s.Close)
	return s
}

// failsClosed checks that no way to claim runs anything.
func failsClosed(t *testing.T, s *idem.Store, key idem.Key) {
	t.Helper()
	_, err := s.Do(t.Context(), key, mustNotRun(t))
	wantUnavailable(t, "Do", err)
	_, err = s.Hold(t.Context(), key, holdMustNotRun(t))
	wantUnavailable(t, "Hold", err)
	lease, resp, err := s.Claim(t.Context(), key)
	wantUnavailable(t, "Claim", err)
	if lease != nil || resp != nil {
		t.Errorf("Claim returned %v, %v beside its error", lease, resp)
	}
}

func wantUnavailable(t *testing.T, op string, err error) {
	t.Helper()
	if !errors.Is(err, idem.ErrUnavailable) {
		t.Fatalf("%s: got %v, want ErrUnavailable", op, err)
	}
	if _, helps := idem.RetryAfter(err); !helps {
		t.Errorf("%s: coming back helps, and the error has no RetryAfter", op)
	}
}

// The claim gets Wait and 5 s for a connection, and no work runs without one.
func TestP5FailClosedWhenThePoolIsExhausted(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	conn, err := b.pool.Acquire(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	store := b.newStore(idem.Policy{Wait: -1})
	storm(3, func(i int) {
		switch i {
		case 0:
			_, err := store.Do(b.ctx, b.key("do"), mustNotRun(t))
			wantUnavailable(t, "Do", err)
		case 1:
			_, err := store.Hold(b.ctx, b.key("hold"), holdMustNotRun(t))
			wantUnavailable(t, "Hold", err)
		case 2: // the caller's own deadline is not the database's failure
			ctx, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
			defer cancel()
			if _, err := store.Do(ctx, b.key("hasty"), mustNotRun(t)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the caller's own deadline", err)
			}
		}
	})
}

// A server that dies between two calls, and while work runs.
func TestP5FailClosedWhenTheServerDies(t *testing.T) {
	t.Parallel()
	own := testdb.Server(t, devpg.Options{})
	b := &bundle{t: t, ctx: t.Context(), pool: own.Pool}
	b.exec("CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL)")
	store := b.newStore(idem.Policy{Retention: time.Hour})
	if _, err := store.Do(b.ctx, b.key("before"), charge("before")); err != nil {
		t.Fatal(err)
	}
	resp, err := store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		resp, err := charge("k")(ctx, tx)
		own.Server.Kill()
		return resp, err
	})
	if resp != nil || !errors.Is(err, idem.ErrUnavailable) && !errors.Is(err, idem.ErrCommitUnknown) {
		t.Errorf("got %+v, %v; want no answer", resp, err)
	}
	failsClosed(t, store, b.key("before")) // not even a replay, and above all no run

	if err := own.Server.Restart(b.ctx); err != nil {
		t.Fatal(err)
	}
	own.Pool.Reset()
	if again, err := store.Do(b.ctx, b.key("before"), mustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
	if first, err := store.Do(b.ctx, b.key("k"), charge("k")); err != nil || first.Replayed {
		t.Errorf("got %+v, %v; want a first answer", first, err)
	}
	if n := b.charges("k"); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
}
