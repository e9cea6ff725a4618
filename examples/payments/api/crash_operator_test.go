package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/jackc/pgx/v5"
)

const wakeUp = syscall.SIGCONT

// settle is what an operator does about a key that is unknown: look at the processor's own books, which no program can ask, and
// settle the key by them, or give it back. A holder that had only stopped may have finished it meanwhile.
func (r *crashRun) settle(ctx context.Context, next *crashed) (reply, error) {
	answer, err := next.askUntil(ctx, r.policy.path, r.id, r.policy.body(r.id), r.policy.final)
	if err != nil || answer.problem() != "outcome-unknown" {
		return answer, err
	}
	if err := r.operate(ctx); err != nil {
		return reply{}, err
	}
	return next.askUntil(ctx, r.policy.path, r.id, r.policy.body(r.id), r.policy.final)
}

func (r *crashRun) operate(ctx context.Context) error {
	if _, err := r.processor.Landed(ctx); err != nil { // nothing is under way any more
		return err
	}
	var id string
	err := r.pool.QueryRow(ctx, "SELECT 'ch_' || id FROM processor.operations WHERE kind = 'charge' AND reference = $1", r.id).Scan(&id)
	key := []string{"--tenant=acme", "--endpoint=POST /charges", "--as=operator", "--yes", "--reason=asked the processor", r.id}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return r.idem(ctx, append([]string{"release"}, key...)...)
	case err != nil:
		return err
	}
	return r.idem(ctx, append([]string{"settle", "--status=201", "--header=Content-Type: application/json", "--provider-ref=" + id,
		fmt.Sprintf(`--body={"id":%q}`, id)}, key...)...)
}

// idem runs the command line tool.
func (r *crashRun) idem(ctx context.Context, args ...string) error {
	path, err := idemCommand()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+r.url)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("idem %s: %w: %s", args[0], err, said)
	}
	return nil
}
