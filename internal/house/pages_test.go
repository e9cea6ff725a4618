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
