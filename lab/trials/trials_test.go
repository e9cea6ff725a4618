package trials

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// log is who had a turn, in order.
type log []string

func (l *log) contestant(name string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		*l = append(*l, name)
		return name + strings.Repeat("'", strings.Count(strings.Join(*l, ""), name)-1), nil
	}
}

func TestContestantsTakeTurnsAndNoneAlwaysFollowsTheSame(t *testing.T) {
	var l log
	steps := 0
	plan := Plan{Turns: 3, Step: func() { steps++ }}
	results, err := Run(t.Context(), plan, l.contestant("a"), l.contestant("b"), l.contestant("c"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(l, ""); got != "abcbcacab" {
		t.Errorf("turns %s, want abc, bca, cab", got)
	}
	if want := [][]string{{"a", "a'", "a''"}, {"b", "b'", "b''"}, {"c", "c'", "c''"}}; !reflect.DeepEqual(results, want) {
		t.Errorf("results %v, want %v", results, want)
	}
	if steps != 9 {
		t.Errorf("%d steps told, want 9", steps)
	}
}

func TestWarmupsDoNotCount(t *testing.T) {
	var l log
	plan := Plan{Warmups: 1, Turns: 2}
	results, err := Run(t.Context(), plan, l.contestant("a"), l.contestant("b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]string{{"a'", "a''"}, {"b'", "b''"}}; !reflect.DeepEqual(results, want) {
		t.Errorf("results %v, want %v", results, want)
	}
	if len(l) != 6 || plan.Steps(2) != 6 {
		t.Errorf("%d turns, %d promised; want 6", len(l), plan.Steps(2))
	}
}

func TestRunEndsWithTheFirstErrorOrWithItsContext(t *testing.T) {
	broken, stopped := errors.New("broken"), errors.New("stopped")
	var l log
	_, err := Run(t.Context(), Plan{Turns: 2}, l.contestant("a"), func(context.Context) (string, error) { return "", broken })
	if !errors.Is(err, broken) || len(l) != 1 {
		t.Errorf("error %v after %d turns of the other; want broken after 1", err, len(l))
	}
	ctx, stop := context.WithCancelCause(t.Context())
	_, err = Run(ctx, Plan{Turns: 2, Step: func() { stop(stopped) }}, l.contestant("b"), l.contestant("c"))
	if !errors.Is(err, stopped) || len(l) != 2 {
		t.Errorf("error %v after %v; want stopped after b", err, l)
	}
}
