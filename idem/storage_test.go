package idem_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// The ALTER of docs/operations.md changes nothing of what is stored: answers of before and after it are replayed byte for byte. A
// server that lacks lz4 refuses it and goes on as before.
func TestAnswersStoredBeforeAndAfterTheSwitchToLZ4AreReplayed(t *testing.T) {
	docs, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	alter := regexp.MustCompile(`ALTER TABLE idem\.keys .* SET COMPRESSION \w+`).FindString(string(docs))
	if !strings.Contains(alter, "lz4") {
		t.Fatalf("docs/operations.md has no such statement: %q", alter)
	}
	b := setup(t)
	body := pageOfCharges(rand.New(rand.NewPCG(1, 1)), 100<<10)
	stores := func(key idem.Key, compression string) {
		t.Helper()
		_, err := b.store.Do(b.ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) {
			return &idem.Response{Status: 200, Body: body}, nil
		})
		var got string
		if err == nil {
			err = b.pool.QueryRow(b.ctx, `SELECT pg_column_compression(response_body) FROM idem.keys
				WHERE tenant_id = $1 AND key = $2`, key.Tenant, key.ID).Scan(&got)
		}
		if err != nil || got != compression {
			t.Fatalf("stored by %q, %v; want %s", got, err, compression)
		}
	}
	before, after, then := b.key("before"), b.key("after"), "pglz"
	stores(before, "pglz")
	if b.count("SELECT count(*) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)") == 1 {
		b.execAsOwner(alter)
		then = "lz4"
	} else if _, err := b.pool.Exec(b.ctx, alter); sqlState(err) != "0A000" {
		t.Errorf("a server without lz4 says %v", err)
	}
	stores(after, then)
	for _, key := range []idem.Key{before, after} {
		resp, err := b.newStore(idem.Policy{}).Do(b.ctx, key, mustNotRun(t))
		if err != nil || !resp.Replayed || !bytes.Equal(resp.Body, body) {
			t.Errorf("%s: %v; want the first answer again", key.ID, err)
		}
	}
}
