package design

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusing ends with its errors in turn, and then charges.
type refusing struct {
	Design
	errs []error
}

func (r *refusing) Pay(context.Context, Payment) (Outcome, error) {
	if len(r.errs) == 0 {
		return Outcome{Charged, 7}, nil
	}
	err := r.errs[0]
	r.errs = r.errs[1:]
	return Outcome{}, err
}

func TestRetryRunsAgainWhatIsNotSerializableAndNothingElse(t *testing.T) {
	refused := &pgconn.PgError{Code: serializationFailure}
	other := &pgconn.PgError{Code: uniqueViolation}
	for _, c := range []struct {
		claim string
		errs  []error
		want  error
		again int
	}{
		{"what is answered is not run again", nil, nil, 0},
		{"a refusal is", []error{refused, refused}, nil, 2},
		{"another error is the caller's", []error{refused, other}, other, 1},
		{"and so is a refusal that does not end", many(refused, retryTries), refused, retryTries},
	} {
		t.Run(c.claim, func(t *testing.T) {
			again := 0
			d := Retry{Design: &refusing{errs: c.errs}, Refused: func() { again++ }}
			o, err := d.Pay(t.Context(), payment)
			if !errors.Is(err, c.want) || (err == nil) != (o == Outcome{Charged, 7}) || again != c.again {
				t.Errorf("%+v, %v after %d refusals; want %v after %d", o, err, again, c.want, c.again)
			}
		})
	}
}

func many(err error, n int) (errs []error) {
	for range n {
		errs = append(errs, err)
	}
	return errs
}
