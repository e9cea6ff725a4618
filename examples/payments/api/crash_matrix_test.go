package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// crashParts is into how many parts the matrix is divided; go test runs one of them.
const crashParts = 10

// crashWorkers is how many rows are lived through at once: they mostly wait for leases to end.
const crashWorkers = 8

// TestCrashMatrix kills the payments API at every point of its protocol, starts it again, and has the client retry: however it
// died, the payment is taken once, and the answer stands within a lease (and Settle, where the processor is asked).
//
// It runs a tenth of the points, another one each minute. PGIDEM_CRASH=3 is one of the tenths, PGIDEM_CRASH=all are all, and any
// other word chooses the rows with it.
func TestCrashMatrix(t *testing.T) {
	c := newCrashSite(t)
	chosen := chosenPoints(t)
	var tasks []crashTask
	i := 0
	for p, points := range c.points() {
		for _, point := range points {
			if chosen(i, crashPolicies[p].name+": "+point.name) {
				tasks = append(tasks, crashTask{crashPolicies[p], point})
			}
			i++
		}
	}
	c.print(c.runAll(tasks))
}

// crashTask is a row to live through.
type crashTask struct {
	policy crashPolicy
	point  crashPoint
}

func (c *crashSite) runAll(tasks []crashTask) []crashRow {
	rows := make([]crashRow, len(tasks))
	var group sync.WaitGroup
	turns := make(chan struct{}, crashWorkers)
	for i, task := range tasks {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			rows[i] = c.run(task.policy, task.point, fmt.Sprintf("crash-%d", i))
		})
	}
	group.Wait()
	return rows
}

// chosenPoints says which points are lived through.
func chosenPoints(t *testing.T) func(i int, name string) bool {
	text := os.Getenv("PGIDEM_CRASH")
	part, err := strconv.Atoi(text)
	switch {
	case text == "all":
		return func(int, string) bool { return true }
	case text == "":
		part = int(time.Now().Unix() / 60)
	case err != nil:
		return func(_ int, name string) bool { return strings.Contains(name, text) }
	}
	part %= crashParts
	t.Logf("tenth %d of the points; PGIDEM_CRASH=%[1]d runs it again, PGIDEM_CRASH=all all of them", part)
	return func(i int, _ string) bool { return i%crashParts == part }
}

// points are those of each policy, by the statements that its request takes.
func (c *crashSite) points() [][]crashPoint {
	all := make([][]crashPoint, len(crashPolicies))
	var group sync.WaitGroup
	for i, policy := range crashPolicies {
		group.Go(func() {
			points, err := c.pointsOf(policy, "dry-"+strconv.Itoa(i))
			if err != nil {
				c.Errorf("%s, without a crash: %v", policy.name, err)
			}
			all[i] = points
		})
	}
	group.Wait()
	return all
}

func (c *crashSite) pointsOf(policy crashPolicy, id string) ([]crashPoint, error) {
	statements, err := c.statements(policy, id, 201)
	if err != nil {
		return nil, err
	}
	points := statementPoints("", statements, 1)
	points = append(points, commitPoints(statements)...)
	points = append(points, pausePoints(statements)...)
	if policy.atomic() {
		return append(points, orderPoints...), nil
	}
	points = append(append(points, processorPoints...), pausedCall(policy))
	// A processor that is not available: the key is given back.
	away := "--unavailable=1"
	giving, err := c.statements(policy, id+"-503", 503, away)
	if err != nil {
		return nil, err
	}
	claimed := slices.IndexFunc(giving, func(s sentStatement) bool { return s.name == "COMMIT" }) + 1
	given := statementPoints("given back: ", giving, claimed+1, away)
	for i := range given {
		if policy.asks {
			given[i].extra = crashSettle // where the first call was never sent, the retry's is refused, and unknown once more
		}
	}
	return append(points, given...), nil
}

// statements are those of a request that nothing befalls.
func (c *crashSite) statements(policy crashPolicy, id string, status int, flags ...string) ([]sentStatement, error) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	p, err := c.startProcessor(ctx, append(policy.processor, flags...), false)
	if err != nil {
		return nil, err
	}
	api, err := startCrashing(ctx, crashPlan{}, policy.flags(c.url, p.URL)...)
	if err != nil {
		return nil, err
	}
	defer api.kill()
	if r := api.ask(ctx, policy.path, id, policy.body(id)); r.err != nil || r.status != status {
		return nil, fmt.Errorf("%d %s %v, want %d", r.status, r.body, r.err, status)
	}
	return api.sent(), nil
}

// print writes the table, and fails for each row that is not as it should be.
func (c *crashSite) print(rows []crashRow) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "policy\tpoint\teffects\tduplicates\tunresolved\tanswer\tafter\tat most\t")
	worst := map[string]time.Duration{}
	for _, r := range rows {
		answer, mark := strconv.Itoa(r.status), ""
		if r.status == 0 {
			answer = "outcome-unknown"
		}
		switch {
		case r.beyond != "":
			mark = "beyond its terms: " + r.beyond
		case r.err != nil:
			mark = "FAILS"
			c.Errorf("%s: %s: %v", r.policy, r.point, r.err)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%.1f s\t%.1f s\t%s\n", r.policy, r.point, r.effects, max(r.effects-1, 0), r.unresolved,
			answer, r.took.Seconds(), r.limit.Seconds(), mark)
		worst[r.policy] = max(worst[r.policy], r.took-r.extra)
	}
	_ = table.Flush() // a Builder takes everything
	c.Logf("%d points; after is from the crash to the answer, the start of the next API included, and a row fails %v above its limit\n%s",
		len(rows), crashSlack, text.String())
	for _, policy := range crashPolicies {
		if took, lived := worst[policy.name]; lived {
			c.Logf("%s: the slowest answer came %.1f s after the crash", policy.name, took.Seconds())
		}
	}
}
