// Migrated runs a command with a migrated database, whose URL the command finds in PGIDEM_VET_URL:
//
//	go run ./internal/devpg/run -- go run ./internal/house/migrated -- sqlc vet
//
// The database is made on the server that PGIDEM_TEST_URL names and dropped when the command ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/house"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	server := os.Getenv("PGIDEM_TEST_URL")
	if len(args) == 0 || server == "" {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/devpg/run -- go run ./internal/house/migrated -- command [argument ...]")
		os.Exit(2)
	}
	err := run(context.Background(), server, args)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // a command that fails has said why
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, server string, args []string) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	name := fmt.Sprintf("pgidem_vet_%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	defer conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")

	u.Path = "/" + name
	if err := house.Migrate(ctx, u.String()); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PGIDEM_VET_URL="+u.String())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
