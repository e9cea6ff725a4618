package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/internal/devpg"
)

// role owns the test databases, and only it owns any: by that the databases
// of pgidem are told from those of others who use pgtestdb on the server.
const role = "pgidem_test"

// A target is the server on which this process makes its databases.
type target struct {
	config pgtestdb.Config
	run    *run // nil on a private server, where nothing outlives the process
}

// shared finds or starts the server, once per process.
var shared = sync.OnceValues(func() (*target, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience) // it may have to be downloaded
	defer cancel()
	connString := os.Getenv("PGIDEM_TEST_URL")
	if connString == "" {
		server, err := devpg.Start(ctx, devpg.Options{})
		if err != nil {
			return nil, fmt.Errorf("testdb: PGIDEM_TEST_URL is not set and no private server can be started: %w", err)
		}
		config, err := configOf(server.URL())
		if err != nil {
			return nil, err
		}
		return &target{config: config}, nil
	}
	config, err := configOf(connString)
	if err != nil {
		return nil, err
	}
	run, err := startRun(ctx, connString)
	if err != nil {
		return nil, err
	}
	return &target{config: config, run: run}, nil
})

// create makes a database from the migrator's template.
func (g *target) create(t testing.TB, migrator pgtestdb.Migrator) *pgtestdb.Config {
	t.Helper()
	if g.run == nil {
		t.Cleanup(func() {
			if t.Failed() {
				t.Log("testdb: the database is gone with the private server; set PGIDEM_TEST_URL to keep those of failed tests")
			}
		})
		return pgtestdb.Custom(t, g.config, migrator)
	}
	ctx := context.Background()
	done, err := g.run.making(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := done(ctx); err != nil {
			t.Error(err)
		}
	}()
	var config *pgtestdb.Config
	t.Cleanup(func() { // after pgtestdb's own, which drops it unless the test has failed
		if t.Failed() && config != nil {
			if err := g.run.keep(ctx, config.Database); err != nil {
				t.Log(err)
			}
			t.Logf("testdb: the failed test's database is kept for a day: %s", config.URL())
		}
	})
	config = pgtestdb.Custom(t, g.config, migrator)
	if err := g.run.sign(ctx, config.Database); err != nil {
		t.Fatal(err)
	}
	return config
}

// configOf translates a connection string for pgtestdb, which writes it anew
// without escaping anything.
func configOf(connString string) (pgtestdb.Config, error) {
	none := pgtestdb.Config{}
	u, err := url.Parse(connString)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return none, errors.New("testdb: PGIDEM_TEST_URL must be of the form postgres://user:password@host:port/database")
	}
	parsed, err := pgx.ParseConfig(connString)
	if err != nil {
		return none, fmt.Errorf("testdb: PGIDEM_TEST_URL: %w", err)
	}
	options := u.Query()
	for _, name := range []string{"user", "password", "host", "port", "dbname", modeParameter} {
		options.Del(name)
	}
	host := parsed.Host
	if strings.HasPrefix(host, "/") { // the directory of a socket
		options.Set("host", host)
		host = ""
	} else if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	return pgtestdb.Config{
		DriverName: "pgx",
		Host:       host,
		Port:       strconv.Itoa(int(parsed.Port)),
		User:       url.User(parsed.User).String(),
		Password:   strings.TrimPrefix(url.UserPassword("", parsed.Password).String(), ":"),
		Database:   url.PathEscape(parsed.Database),
		Options:    options.Encode(),
		TestRole: &pgtestdb.Role{
			Username:     role,
			Password:     role,
			Capabilities: "NOSUPERUSER NOCREATEDB NOCREATEROLE",
		},
		// Tests of crashes leave connections behind on purpose.
		ForceTerminateConnections: true,
	}, nil
}

// address is where a connection string leads, without the password in it.
func address(config *pgx.ConnConfig) string {
	if strings.HasPrefix(config.Host, "/") {
		return config.Host
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}
