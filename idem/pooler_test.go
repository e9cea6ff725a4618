package idem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgbouncer"
	"github.com/pgidem/pgidem/internal/testdb"
)

// behindPooler is a pool of 16 connections in a query mode, through a PgBouncer with two connections to the server.
func (b *bundle) behindPooler(mode pgx.QueryExecMode) (*pgxpool.Pool, *pgbouncer.Bouncer) {
	b.t.Helper()
	through, bouncer := pgbouncer.Start(b.t, b.pool.Config().ConnString(), pgbouncer.Options{PoolSize: 2})
	return testdb.Pool(b.t, through, testdb.AsSuperuser, func(c *pgxpool.Config) {
		c.MaxConns = 16
		c.ConnConfig.DefaultQueryExecMode = mode
	}), bouncer
}

// poolerModes are the query modes that work through a pooler in transaction mode.
var poolerModes = []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// C34: sixteen callers through a pooler with two connections, for ten seconds, the pooler restarted half-way: one effect a key,
// and no error of a prepared statement.
func TestC34CallersThroughAPooler(t *testing.T) {
	t.Parallel()
	const seconds = 10
	for _, mode := range poolerModes {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t)
			pool, bouncer := b.behindPooler(mode)
			store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: idem.Policy{Retention: time.Hour, Stale: idem.StaleRerun}}
			defer store.Close()
			if err := store.Check(b.ctx); err != nil {
				t.Fatalf("Check refuses a set-up that works: %v", err)
			}
			ctx, cancel := context.WithTimeout(b.ctx, seconds*time.Second/time.Duration(len(poolerModes)))
			defer cancel()
			var keys, cut atomic.Int64
			var callers sync.WaitGroup
			for caller := range 16 {
				callers.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						id := fmt.Sprintf("k%d-%d", caller, n)
						var err error
						if n%2 == 0 {
							_, err = store.Do(b.ctx, b.key(id), charge(id))
						} else {
							_, err = store.Hold(b.ctx, b.key(id), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
								_, err := pool.Exec(ctx, "INSERT INTO charges (key) VALUES ($1)", id)
								return created(), err
							})
						}
						keys.Add(1)
						if err == nil {
							continue
						}
						cut.Add(1)
						time.Sleep(20 * time.Millisecond) // while the pooler is down a call fails at once
						if code := sqlState(err); code == "26000" || code == "42P05" || strings.HasPrefix(code, "08P") {
							t.Errorf("%s: %v", id, err)
						}
					}
				})
			}
			time.Sleep(seconds * time.Second / time.Duration(2*len(poolerModes)))
			bouncer.Restart()
			callers.Wait()
			if doubles := b.count("SELECT count(*) FROM (SELECT 1 FROM charges GROUP BY key HAVING count(*) > 1) AS d"); doubles != 0 {
				t.Errorf("%d keys were charged twice", doubles)
			}
			t.Logf("%d keys, %d cut off by the restart", keys.Load(), cut.Load())
			if keys.Load() < 100 || cut.Load() > keys.Load()/4 {
				t.Errorf("%d of %d calls failed: the pooler was hardly used", cut.Load(), keys.Load())
			}
		})
	}
}

// C34: a query mode whose prepared statements go astray in the pooler is named before the first claim.
func TestC34CheckRefusesPreparedStatementsBehindAPooler(t *testing.T) {
	b := setup(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec} {
		t.Run(mode.String(), func(t *testing.T) {
			pool, _ := b.on(t).behindPooler(mode)
			err := (&idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool}).Check(b.ctx)
			if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode=exec") {
				t.Errorf("got %v, want the cure", err)
			}
		})
	}
}

// C40: what a claim sets is gone for the next client of the pooler's connection.
func TestC40SettingsDoNotLeakThroughAPooler(t *testing.T) {
	b := setup(t)
	through, _ := pgbouncer.Start(t, b.pool.Config().ConnString(), pgbouncer.Options{PoolSize: 1})
	open := func() *pgxpool.Pool {
		return testdb.Pool(t, through, testdb.AsSuperuser, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		})
	}
	ours, foreign := open(), open()
	settings := func() (all []string) {
		for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
			"client_connection_check_interval", "synchronous_commit", "search_path",
			"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin",
			"idem.tenant_id", "idem.endpoint", "idem.key", "idem.claim_id", "idem.retention"} {
			var value string
			if err := foreign.QueryRow(b.ctx, "SELECT coalesce(current_setting($1, true), '')", name).Scan(&value); err != nil {
				t.Fatal(err)
			}
			all = append(all, name+"="+value)
		}
		return all
	}
	before := settings()
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: ours, Policy: idem.Policy{Retention: time.Hour, Wait: 50 * time.Millisecond}}
	defer store.Close()
	for _, call := range []func() error{
		func() error { _, err := store.Do(b.ctx, b.key("do"), charge("do")); return err },
		func() error { _, err := store.Do(b.ctx, b.key("do"), mustNotRun(t)); return err },
		func() error {
			_, err := store.Do(b.ctx, b.key("fails"), func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, errors.ErrUnsupported })
			return errors.Join(map[bool]error{false: err}[errors.Is(err, errors.ErrUnsupported)])
		},
		func() error { _, err := store.DoBatch(b.ctx, b.key("batch"), charging("batch")); return err },
		func() error { _, err := store.DoBatch(b.ctx, b.key("batch"), charging("batch")); return err },
		func() error {
			_, err := store.DoBatch(b.ctx, b.key("batch fails"), queue("SELECT 1/0"))
			return errors.Join(map[bool]error{false: err}[sqlState(err) == "22012"])
		},
		func() error {
			_, err := store.Hold(b.ctx, b.key("hold"), func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil })
			return err
		},
		func() error { // who come at once share statements, with settings of their own
			errs := make([]error, 16)
			storm(len(errs), func(i int) {
				_, errs[i] = store.Hold(b.ctx, b.key(fmt.Sprint("storm ", i)), answers(created()))
			})
			return errors.Join(errs...)
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
		if after := settings(); strings.Join(after, " ") != strings.Join(before, " ") {
			t.Errorf("the next client sees %v, want %v", after, before)
		}
	}
}
