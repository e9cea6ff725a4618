package bench

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
)

// countFindings hold what was counted against its targets. Those that no machine may change must hold.
func (r *Result) countFindings() []report.Finding {
	var all []report.Finding
	for _, c := range r.Replays {
		ids := c.TransactionIDs * float64(c.Operations)
		measured := fmt.Sprintf("%s: %s replays, %.0f transaction ids, %d dead tuples",
			c.Name, report.Number(c.Operations), ids, c.DeadTuples)
		f := target("Replays take no transaction id and leave no dead tuple.", measured, ids == 0 && c.DeadTuples == 0)
		f.Must = true
		all = append(all, f)
	}
	all = append(all, r.loneCaller()...)
	for _, limit := range []struct {
		arm, claim, unit string
		under            float64
		figure           func(Count) float64
	}{
		{claimComplete, "Claim and completion take less than 900 bytes of WAL, in lease mode.", "bytes", 900, walBytes},
		{doPair, "Claim and completion take less than 900 bytes of WAL, in atomic mode.", "bytes", 900, walBytes},
		{claimComplete, "Claim and completion take fewer than 60 allocations.", "allocations", 60, allocations},
		{replayHold, "A replay takes fewer than 40 allocations, in lease mode.", "allocations", 40, allocations},
		{replayDo, "A replay takes fewer than 40 allocations, in atomic mode.", "allocations", 40, allocations},
		{largeHold, "An answer of 1 MiB allocates less than 3 MiB when it is stored.", "MiB", 3, allocatedMiB},
		{largeReplay, "An answer of 1 MiB allocates less than 3 MiB when it is replayed.", "MiB", 3, allocatedMiB},
	} {
		if c := countOf(r.Alone, limit.arm); c != nil {
			figure := limit.figure(*c)
			all = append(all, target(limit.claim, fmt.Sprintf("%.4g %s", figure, limit.unit), figure < limit.under))
		}
	}
	for _, hot := range []struct{ arm, claim string }{
		{do, "Every update of atomic mode is HOT."}, {heartbeat, "Every heartbeat is HOT."},
	} {
		if c := countOf(r.Alone, hot.arm); c != nil {
			measured := fmt.Sprintf("%d of %d", c.HOTUpdates, c.Updates)
			all = append(all, target(hot.claim, measured, c.Updates > 0 && c.HOTUpdates == c.Updates))
		}
	}
	return all
}

func walBytes(c Count) float64     { return c.WALBytes }
func allocations(c Count) float64  { return c.Allocations }
func allocatedMiB(c Count) float64 { return c.AllocatedBytes / (1 << 20) }

// loneCaller is what coalescing costs those who need none.
func (r *Result) loneCaller() []report.Finding {
	with, without := countOf(r.Alone, hold), countOf(r.Alone, holdAlone)
	if with == nil || without == nil {
		return nil
	}
	f := target("A lone caller sends the same messages as without coalescing.",
		fmt.Sprintf("%.2f messages in %.2f round trips, without it %.2f in %.2f", with.Messages, with.RoundTrips,
			without.Messages, without.RoundTrips),
		with.Messages == without.Messages && with.RoundTrips == without.RoundTrips)
	f.Must = true
	return []report.Finding{f}
}
