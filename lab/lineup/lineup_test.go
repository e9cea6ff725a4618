package lineup

import (
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/workbench"
)

func TestLineupGivesAllEquallyManyConnections(t *testing.T) {
	l, err := Open(t.Context(), &workbench.Bench{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	toRedis, toPostgreSQL := l.Redis.Options().PoolSize, l.Pool.Config().MaxConns
	if l.NoRedis != "" || toRedis != 3 || toPostgreSQL != 3 || l.Store.Pool != l.Pool {
		t.Errorf("Redis %q with %d connections, PostgreSQL with %d; want 3 each", l.NoRedis, toRedis, toPostgreSQL)
	}
	if l.Store.Policy.Wait != 5*time.Second {
		t.Errorf("the product waits %s, the article's designs 5 s", l.Store.Policy.Wait)
	}
	for _, d := range []design.Design{l.Claim(0), l.RedisLock(0), design.Do{Store: l.Store}} {
		p := design.Payment{Key: "key", Customer: "customer 1", AmountCents: 49_00}
		first, err := d.Pay(t.Context(), p)
		if err != nil || first.Kind != design.Charged {
			t.Errorf("%s: %+v, %v; want charged", d.Name(), first, err)
		}
		want := design.Outcome{Kind: design.Replayed, ChargeID: first.ChargeID}
		if again, err := d.Pay(t.Context(), p); err != nil || again != want {
			t.Errorf("%s: %+v, %v; want a replay of %+v", d.Name(), again, err, first)
		}
	}
}

func TestLineupWithoutRedisSaysWhy(t *testing.T) {
	l, err := Open(t.Context(), &workbench.Bench{SkipRedis: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if l.Redis != nil || l.NoRedis != "skipped: --skip-redis" {
		t.Errorf("%v, %q", l.Redis, l.NoRedis)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
