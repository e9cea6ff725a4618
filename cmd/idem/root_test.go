package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/testdb"
)

func TestWrongUseExitsWith2AndAHint(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"":                        "a command is missing: one of check, forget, list, migrate, reconcile, release, settle, show, stats, sweep",
		"sweeep":                  `unknown command "sweeep"; did you mean sweep?`,
		"destroy":                 `unknown command "destroy"`,
		"migrate":                 "a command is missing: one of down, print, up, version",
		"migrate sideways":        `unknown command "sideways"`,
		"migrate up 3":            `unexpected argument "3"`,
		"migrate force 3":         `unknown command "force"`,
		"migrate up --force":      "unknown flag: --force",
		"migrate up --wait long":  "--wait",
		"migrate up --wait -1s":   "--wait must not be negative",
		"migrate down --wait -1s": "--wait must not be negative",
		"migrate down --all":      "--yes",
		"migrate print now":       `unexpected argument "now"`,
		"migrate version --long":  "unknown flag: --long",
		"check everything":        `unexpected argument "everything"`,
		"--verbose":               "unknown flag: --verbose",
		"sweep --database-url":    "flag needs an argument",
		"sweep --database-url=":   "--database-url",
		"show --tenant t":         "KEY is missing",
		"sweep --batch 0":         "--batch must be between",
		"help sideways":           `unknown command "sideways"`,
		"help migrate sideways":   `unknown command "migrate sideways"`,
		"completion":              `unknown command "completion"`,
	} {
		c := cli(t, "", strings.Fields(line)...).want(t, 2, "idem: ", says, "usage: idem", "--help")
		if c.out != "" {
			t.Errorf("%q writes %q to stdout", line, c.out)
		}
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	cli(t, "", "help", "migrate", "up").want(t, 0, "Examples:\n  idem migrate up")
	for _, line := range []string{"", "migrate", "migrate up", "migrate down", "migrate version", "migrate print", "sweep", "show", "check",
		"list", "stats", "reconcile", "settle", "release", "forget"} {
		c := cli(t, "", append(strings.Fields(line), "--help")...).want(t, 0, "Usage:\n  idem", "Examples:\n  idem "+strings.Split(line+" ", " ")[0], "--database-url")
		if c.err != "" {
			t.Errorf("the help of %q goes to stderr: %s", line, c.err)
		}
		for text := range strings.Lines(c.out) {
			if len(text) > 130 {
				t.Errorf("the help of %q has a line of %d characters", line, len(text))
			}
		}
	}
}

func TestVersionNamesTheBuildAndItsSchema(t *testing.T) {
	t.Parallel()
	c := cli(t, "", "--version").want(t, 0, "(schema 5, go")
	if !strings.HasPrefix(c.out, "idem ") || strings.Count(c.out, "\n") != 1 {
		t.Errorf("it says %q", c.out)
	}
}

// pgVariables are the PG* variables that lead to a database.
func pgVariables(t *testing.T, connString string) []string {
	t.Helper()
	config, err := pgx.ParseConfig(connString)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(connString)
	if err != nil {
		t.Fatal(err)
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	return []string{"PGHOST=" + config.Host, "PGPORT=" + port, "PGDATABASE=" + config.Database, "PGUSER=" + config.User,
		"PGPASSWORD=" + config.Password, "PGSSLMODE=disable"}
}

func TestFlagBeatsDatabaseURLBeatsPGVariables(t *testing.T) {
	t.Parallel()
	// Three databases that differ in their version.
	flag, variable, pg := empty(t), empty(t), empty(t)
	flag.stock(t, "up", "1").want(t, 0)
	variable.stock(t, "up", "2").want(t, 0)
	pg.stock(t, "up", "5").want(t, 0)
	env := pgVariables(t, pg.url)
	version := func(env []string, args ...string) string {
		c := startWith(t, env, binary, append([]string{"migrate", "version"}, args...)...).wait(t).want(t, 0)
		first, _, _ := strings.Cut(c.out, "\n")
		return first
	}
	if got := version(env); got != "5" {
		t.Errorf("the PG* variables lead to version %s, want 5", got)
	}
	if got := version(append(env, "DATABASE_URL=")); got != "5" {
		t.Errorf("beside an empty DATABASE_URL the PG* variables lead to version %s, want 5", got)
	}
	env = append(env, "DATABASE_URL="+variable.url)
	if got := version(env); got != "2" {
		t.Errorf("DATABASE_URL leads to version %s, want 2", got)
	}
	if got := version(env, "--database-url", flag.url); got != "1" {
		t.Errorf("--database-url leads to version %s, want 1", got)
	}
}

func TestPasswordsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, testdb.URL(t))
	wrong, err := url.Parse(db.url)
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("pgidem_nobody", "hunter2")
	for _, connString := range []string{
		wrong.String(),
		"postgres://app:hunter2@127.0.0.1:1/shop",
		"postgres://app:hunter2@127.0.0.1:port/shop",
		"postgres://app:hunter2/x@127.0.0.1/shop",
		"postgres://app:hunter2#x@127.0.0.1/shop",
		"postgres://app:hunter2%zz@127.0.0.1/shop",
		"postgres://app:x@hunter2@[::1/shop",
		"postgres://127.0.0.1:1/shop?password=hunter2&sslmode=perhaps",
		"postgres://127.0.0.1:1/shop?password=hunter2&connect_timeout=soon",
		"postgres://127.0.0.1:1/shop?password=hunter2&pool_max_conns=many",
		"postgres://127.0.0.1:1/shop?password=hunter2&default_query_exec_mode=fast",
		"postgres://127.0.0.1:1/shop?password=x&hunter2", // & and @ of a password that nobody encoded
		"postgres://app:x@hunter2%zz@127.0.0.1/shop",
		"host=127.0.0.1 port=1 user=app password=hunter2",
		"host=127.0.0.1 port=1 user=app password='hunter2",
		"host=127.0.0.1 port=x user=app password='hunter2 `: hunter2'",
		"mysql://app:hunter2@127.0.0.1/shop",
		"hunter2",
	} {
		for _, args := range [][]string{{"check"}, {"migrate", "up"}, {"migrate", "version"}, {"sweep"}} {
			for _, c := range []call{
				cli(t, connString, args...),
				cli(t, "", append(args, "--database-url", connString)...),
			} {
				if c.code != 1 || !strings.HasPrefix(c.err, "idem: ") {
					t.Errorf("%q on %s exits with %d and says %q", args, connString, c.code, c.err)
				}
				if strings.Contains(c.out+c.err, "hunter2") {
					t.Errorf("%q on %s says %s", args, connString, c.err)
				}
			}
		}
	}
	for _, args := range [][]string{{"--help"}, {"migrate", "up", "--help"}, {"sweep", "--batch", "0"}} {
		if c := cli(t, db.url, append(args, "--database-url", "postgres://app:hunter2@db/shop")...); strings.Contains(c.out+c.err, "hunter2") {
			t.Errorf("%q says %s%s", args, c.out, c.err)
		}
	}
}
