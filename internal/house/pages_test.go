package house

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

var (
	block  = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	before = regexp.MustCompile(`^[^#]*`)
)

// blocks returns the code of a page in one language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	var all []string
	for _, match := range block.FindAllStringSubmatch(read(t, page), -1) {
		if match[1] == language {
			all = append(all, match[2])
		}
	}
	return all
}

// A page that points nowhere is worse than none.
func TestLinksInThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range tree(t, ".", ".md") {
		dir := page[:strings.LastIndex(page, "/")+1]
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			path := before.FindString(match[1])
			if strings.Contains(match[1], "://") || path == "" {
				continue
			}
			if _, err := os.Stat(root + "/" + dir + path); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
			}
		}
	}
}

// What the README shows is what compiles.
func TestProgramsInTheReadmeAreExamples(t *testing.T) {
	t.Parallel()
	outdent := regexp.MustCompile(`(?m)^\t*`)
	examples := outdent.ReplaceAllString(read(t, "idem/example_test.go")+read(t, "idem/idemhttp/example_test.go"), "")
	found := blocks(t, "README.md", "go")
	for _, program := range found {
		if !strings.Contains(examples, outdent.ReplaceAllString(program, "")) {
			t.Errorf("this part of README.md stands in no example_test.go:\n%s", program)
		}
	}
	if len(found) == 0 {
		t.Error("no program in README.md")
	}
}

// An operator who settles a key by the page settles it, once, and leaves a trace.
func TestStatementsForOperatorsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool := testdb.New(t)
	abandon := `INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, expires_at, claim_id, attempts, leased, tenant_id, endpoint, key, status, fingerprint)
		SELECT 1700000000000000, t, t, t, t, '00000000-0000-8000-8000-000000000000', 1, true, 'acme', 'POST /charges', 'k-1', 'in_flight', '\x00'
		FROM (SELECT statement_timestamp() - interval '1 hour' AS t) AS past`
	list, verdicts := "", map[string]string{}
	for _, text := range blocks(t, "docs/operations.md", "sql") {
		switch {
		case strings.HasPrefix(text, "SELECT"):
			list = text
		case strings.HasPrefix(text, "WITH settled"):
			verdicts["committed"] = text
		case strings.HasPrefix(text, "WITH released"):
			verdicts["released"] = text
		}
	}
	if list == "" || len(verdicts) != 2 {
		t.Fatal("docs/operations.md lacks a statement that this test looks for")
	}
	exec := func(sql string, want int64) {
		t.Helper()
		tag, err := pool.Exec(ctx, sql)
		if err != nil || tag.RowsAffected() != want {
			t.Fatalf("%d rows, want %d (%v):\n%s", tag.RowsAffected(), want, err, sql)
		}
	}
	for state, verdict := range verdicts {
		exec("DELETE FROM idem.keys", 0)
		exec(abandon, 1)
		exec(list, 1)
		exec(strings.ReplaceAll(verdict, "1700000000000000", "1"), 0) // another holder's fence
		exec(verdict, 1)
		exec(verdict, 0)
		exec(list, 0)
		var got string
		if err := pool.QueryRow(ctx, "SELECT state FROM idem.overview").Scan(&got); err != nil || got != state {
			t.Errorf("the key is %q, want %q (%v)", got, state, err)
		}
		exec("DELETE FROM idem.keys", 1)
		exec("DELETE FROM idem.audit WHERE key = 'k-1'", 1)
	}
}

// The roles of sql/roles.sql can do what the page says they are for.
func TestRolesCanDoTheirWork(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	own := testdb.Server(t, devpg.Options{})
	if _, err := own.Pool.Exec(ctx, read(t, "sql/roles.sql")); err != nil {
		t.Fatal(err)
	}
	as := func(role string) *pgxpool.Pool {
		return testdb.Pool(t, own.URL, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
	}
	store := &idem.Store{Pool: as("idem_app")}
	t.Cleanup(store.Close)
	if err := store.Check(ctx); err != nil {
		t.Errorf("idem_app: %v", err)
	}
	key := idem.Key{Tenant: "acme", Endpoint: "POST /orders", ID: "k-1", Fingerprint: idem.AnyRequest}
	if _, err := store.Do(ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, nil }); err != nil {
		t.Errorf("idem_app: %v", err)
	}
	key.ID = "k-2"
	if _, err := store.Hold(ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, nil }); err != nil {
		t.Errorf("idem_app: %v", err)
	}
	if _, err := own.Pool.Exec(ctx, "UPDATE idem.keys SET expires_at = statement_timestamp()"); err != nil {
		t.Fatal(err)
	}
	operator := as("idem_operator")
	var keys int
	if err := operator.QueryRow(ctx, "SELECT sum(expired)::integer FROM idem.overview").Scan(&keys); err != nil || keys != 2 {
		t.Errorf("idem_operator: %d expired keys (%v)", keys, err)
	}
	for _, text := range blocks(t, "docs/operations.md", "sql") {
		if _, err := operator.Exec(ctx, text); err != nil {
			t.Errorf("idem_operator: %v:\n%s", err, text)
		}
	}
	stats, err := (&idem.Sweeper{Pool: as("idem_sweep")}).Sweep(ctx)
	if err != nil || stats.Deleted != 2 {
		t.Errorf("idem_sweep: %d keys deleted (%v)", stats.Deleted, err)
	}
}
