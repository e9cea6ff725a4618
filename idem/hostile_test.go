package idem_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Work that changes its transaction's settings, and leaves a savepoint open, changes nothing about how it is completed: the commit
// is durable, and no time-out of its own cuts it off.
func TestWorkThatChangesSettingsDoesNotWeakenTheCommit(t *testing.T) {
	b := setup(t)
	b.exec("CREATE TABLE committed_with (synchronous_commit text)")
	// COMMIT outlasts the time-out that fn sets.
	b.exec(`CREATE FUNCTION note_settings() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO committed_with VALUES (current_setting('synchronous_commit')); PERFORM pg_sleep(0.5); RETURN NULL; END $$`)
	b.exec("CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON charges DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_settings()")
	resp, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		for _, sql := range []string{"INSERT INTO charges (key) VALUES ('k')", "SET LOCAL synchronous_commit = off",
			"SAVEPOINT left_open", "SET LOCAL statement_timeout = '250ms'"} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return nil, err
			}
		}
		return created(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != 201 || b.charges("k") != 1 {
		t.Errorf("got %+v and %d charges", resp, b.charges("k"))
	}
	if n := b.count("SELECT count(*) FROM committed_with WHERE synchronous_commit = 'on'"); n != 1 {
		t.Error("the commit was not durable: fn switched synchronous_commit off")
	}
}
