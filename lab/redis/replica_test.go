package redis_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/redis"
)

func start(t *testing.T) *redis.Server {
	t.Helper()
	s, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestReplicaFollowsAndTakesOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary, replica := start(t), start(t)
	there, here := primary.Client(), replica.Client()
	defer there.Close()
	defer here.Close()
	if err := there.Set(ctx, "before the copy", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := replica.Follow(ctx, primary, primary.Address); err != nil {
		t.Fatal(err)
	}
	const more = 1000
	for i := range more {
		if err := there.Set(ctx, "after it "+strconv.Itoa(i), "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := replica.CaughtUp(ctx, primary); err != nil {
		t.Fatal(err)
	}
	if keys, err := here.DBSize(ctx).Result(); err != nil || keys != more+1 {
		t.Errorf("the replica has %d keys (%v), want %d", keys, err, more+1)
	}
	if err := here.Set(ctx, "on the replica", "1", 0).Err(); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("a replica takes a write: %v", err)
	}

	primary.Close()
	if err := replica.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	if err := here.Set(ctx, "promoted", "1", 0).Err(); err != nil {
		t.Errorf("a promoted replica takes no writes: %v", err)
	}
	if keys, err := here.DBSize(ctx).Result(); err != nil || keys != more+2 {
		t.Errorf("the promoted replica has %d keys (%v), want %d", keys, err, more+2)
	}
	replica.Close()
	gone(t, replica.Address)
}

func TestReplicaThatCannotFollowSaysSo(t *testing.T) {
	t.Parallel()
	primary, replica := start(t), start(t)
	if err := replica.Follow(t.Context(), primary, "nowhere"); err == nil || !strings.Contains(err.Error(), "missing port") {
		t.Errorf("error %v", err)
	}
	primary.Close()
	err := replica.Follow(t.Context(), primary, primary.Address)
	if err == nil || !strings.Contains(err.Error(), "prepare the primary") {
		t.Errorf("error %v", err)
	}
}
