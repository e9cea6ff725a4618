package webhook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// script answers one delivery after the other with a status, or breaks the connection.
type script struct {
	answers []int
	got     int
}

func (s *script) Receive(context.Context, Event) (int, error) {
	status := s.answers[min(s.got, len(s.answers)-1)]
	s.got++
	switch status {
	case noAnswer:
		panic(http.ErrAbortHandler)
	case http.StatusInternalServerError:
		return 0, errors.New("out of order")
	}
	return status, nil
}

func TestProviderComesBackUntilA2xx(t *testing.T) {
	for _, c := range []struct {
		claim   string
		answers []int
		want    int // deliveries
		err     string
	}{
		{"never after a 200", []int{200}, 1, ""},
		{"never after another 2xx", []int{202}, 1, ""},
		{"after a 409", []int{409, 409, 200}, 3, ""},
		{"after a redirection that leads nowhere", []int{304, 200}, 2, ""},
		{"after a connection that broke", []int{noAnswer, 200}, 2, ""},
		{"not after a receiver that fails", []int{409, 500}, 2, "out of order"},
		{"and gives up some day", []int{409}, mostDeliveries, "the last answer is 409"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			s := &script{answers: c.answers}
			e, err := listen(s)
			if err != nil {
				t.Fatal(err)
			}
			defer e.close()
			from := newProvider()
			defer from.close()
			n, err := from.insist(t.Context(), e.url, newPayment()[0])
			if n != c.want || s.got != c.want {
				t.Errorf("%d deliveries, %d arrived; want %d", n, s.got, c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestPaymentIsTwoEventsWithIDsOfTheirOwn(t *testing.T) {
	e := newPayment()
	if e[0].Type != completed || e[1].Type != paid || e[0].ID == e[1].ID || byPayment.of(e[0]) != byPayment.of(e[1]) {
		t.Errorf("%+v", e)
	}
	if other := newPayment(); byPayment.of(other[0]) == byPayment.of(e[0]) {
		t.Error("two payments have one id")
	}
}
