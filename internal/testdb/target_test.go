package testdb

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestUnusableServerIsOneClearSentence(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	if _, err := conn.Exec(t.Context(), "CREATE ROLE ordinary LOGIN PASSWORD 'secret'"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ claim, url, want string }{
		{"nobody listens", "postgres://u:secret@127.0.0.1:1/db", "no PostgreSQL server answers at 127.0.0.1:1, which PGIDEM_TEST_URL names: start it, or unset the variable"},
		{"unknown host", "postgres://u:secret@no-such-host.invalid:5432/db", "no PostgreSQL server answers at no-such-host.invalid:5432"},
		{"wrong password", fmt.Sprintf("postgres://postgres:secret@127.0.0.1:%d/postgres", server.Port()), "password authentication failed"},
		{"no superuser", fmt.Sprintf("postgres://ordinary:secret@127.0.0.1:%d/postgres", server.Port()), `role "ordinary", which must be a superuser`},
		{"no URL", "host=127.0.0.1 password=secret", "PGIDEM_TEST_URL must be of the form postgres://"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			t.Parallel()
			out, err := output(t, child(c.url, "pass"))
			if err == nil {
				t.Error("the test passes")
			}
			if !strings.Contains(out, c.want) {
				t.Errorf("it does not say %q:\n%s", c.want, out)
			}
			if lines := strings.Count(strings.TrimSpace(out), "\n"); lines > 3 { // RUN, the sentence, --- FAIL, FAIL
				t.Errorf("it says more than a sentence:\n%s", out)
			}
			if strings.Contains(out, "secret") {
				t.Errorf("it gives the password away:\n%s", out)
			}
		})
	}
}

// Whatever a connection string holds, pgtestdb must make the same of it.
func TestConnectionStringsReachPgtestdb(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	const password = `p@ss/w:rd?#%& "x"`
	if _, err := conn.Exec(t.Context(), `CREATE ROLE "o'dd @role" SUPERUSER LOGIN PASSWORD '`+password+`'; `); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `CREATE DATABASE "odd /db"`); err != nil {
		t.Fatal(err)
	}
	odd := url.URL{
		Scheme: "postgresql", Host: fmt.Sprintf("127.0.0.1:%d", server.Port()), Path: "/odd /db",
		User: url.UserPassword("o'dd @role", password), RawQuery: "application_name=a+b&sslmode=disable",
	}
	for claim, connString := range map[string]string{
		"special characters": odd.String(),
		"through a socket":   fmt.Sprintf("postgres:///postgres?host=%s&port=%d&user=postgres", url.QueryEscape(server.Dir()), server.Port()),
		"with an exec mode":  server.URL() + "&default_query_exec_mode=exec",
		"without sslmode":    strings.TrimSuffix(server.URL(), "?sslmode=disable"),
	} {
		// One after the other: pgtestdb's lock on the template is one of the database that the string names.
		t.Run(claim, func(t *testing.T) {
			if out, err := output(t, child(connString, "pass")); err != nil {
				t.Errorf("%s: %v\n%s", connString, err, out)
			}
		})
	}
}
