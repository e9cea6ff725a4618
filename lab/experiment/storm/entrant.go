package storm

import (
	"time"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/lineup"
)

// Article is what article 003 says of a design: not measured here.
type Article struct {
	Duplicates        int     `json:"duplicates"`
	RequestsPerSecond float64 `json:"requests_per_second"`
}

// entrant is a design in the storm.
type entrant struct {
	design.Design
	article *Article // nil: one of ours
	skipped string   // why it does not run; empty: it does
}

// entrants are all designs, with charges that take delay.
func entrants(l *lineup.Lineup, delay time.Duration) []entrant {
	return []entrant{
		{Design: design.None{Pool: l.Pool, Delay: delay}, article: &Article{4000, 3881}},
		{Design: design.CheckThenAct{Pool: l.Pool, Delay: delay}, article: &Article{216, 10255}},
		{Design: l.Claim(delay), article: &Article{0, 6656}},
		{Design: design.Transaction{Pool: l.Pool, Delay: delay}, article: &Article{0, 3392}},
		{Design: l.RedisLock(delay), article: &Article{0, 12637}, skipped: l.NoRedis},
		{Design: design.Do{Store: l.Store, Delay: delay}},
		{Design: design.Hold{Store: l.Store, Processor: design.Processor{Pool: l.Pool, Delay: delay}}},
	}
}
