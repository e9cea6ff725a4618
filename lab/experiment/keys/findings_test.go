package keys

import (
	"slices"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
)

// measured is a result as it is expected.
func measured() *Result {
	r := &Result{Rows: 100_000, RowsPerInsert: 50_000, RowsPerCheckpoint: 50_000, SharedBuffersBytes: 1_000_000}
	for _, name := range []string{"article 003's table", "idem.keys"} {
		r.Tables = append(r.Tables, Table{Name: name, Kinds: []Kind{
			{Name: "UUIDv4", Rows: 100_000, IndexBytes: 8_000_000, WALBytes: 60_000_000, FullPageImages: 4000, BlocksRead: 60_000,
				Seconds: 4, Inserts: []Insert{{Seconds: 1}, {Seconds: 3}}},
			{Name: "UUIDv7", Rows: 100_000, IndexBytes: 6_000_000, WALBytes: 30_000_000, FullPageImages: 10, BlocksRead: 4,
				Seconds: 2, Inserts: []Insert{{Seconds: 1}, {Seconds: 1}}},
		}})
	}
	for _, name := range []string{"UUIDv4", "UUIDv7"} {
		r.Payments = append(r.Payments, Payments{
			Kind: name, Payments: 1000, Charges: 1000, Replays: 1000, PerSecond: []float64{900, 1200, 1000},
		})
	}
	return r
}

func failed(findings []report.Finding) (claims []string) {
	for _, f := range findings {
		if !f.Holds {
			claims = append(claims, f.Claim)
		}
	}
	return claims
}

const twentyTwo = "UUIDv4 keys are 22 times slower (11 million rows, measured in another article)."

func TestFindings(t *testing.T) {
	t.Parallel()
	const (
		large  = "Every index of this experiment is at least 4 times as large as shared_buffers."
		works  = "Use random keys. A V4 UUID works."
		once   = "A payment is charged once, whichever kind of UUID its key is."
		local  = "Time-ordered keys have index locality."
		index  = "The index of UUIDv7 keys is smaller: they split no page in the middle."
		wal    = "UUIDv7 keys write less WAL: fewer pages are logged whole."
		faster = "UUIDv7 keys are inserted faster once the index has outgrown its memory."
	)
	for _, c := range []struct {
		claim  string
		change func(*Result)
		not    []string
	}{
		{"all hold but the one of another size", func(*Result) {}, []string{twentyTwo}},
		{"an index that fits", func(r *Result) { r.Tables[0].Kinds[1].IndexBytes = 3_999_999 }, []string{large, twentyTwo}},
		{"random keys that meet", func(r *Result) { r.Tables[1].Kinds[0].Rows-- }, []string{works, twentyTwo}},
		{"a second charge under a random key", func(r *Result) { r.Payments[0].Duplicates++ }, []string{works, once, twentyTwo}},
		{"a second charge under a key in order", func(r *Result) { r.Payments[1].Duplicates++ }, []string{once, twentyTwo}},
		{"a charge more", func(r *Result) { r.Payments[1].Charges++ }, []string{once, twentyTwo}},
		{"a lost payment", func(r *Result) { r.Payments[1].Missing++ }, []string{once, twentyTwo}},
		{"a copy without the answer", func(r *Result) { r.Payments[1].Replays-- }, []string{once, twentyTwo}},
		{"or one that was sent away", func(r *Result) { r.Payments[1].Replays--; r.Payments[1].InFlight++ }, []string{twentyTwo}},
		{"pages read for keys in order", func(r *Result) { r.Tables[0].Kinds[1].BlocksRead = 70_000 }, []string{twentyTwo, local}},
		{"a larger index in one table", func(r *Result) { r.Tables[1].Kinds[1].IndexBytes = 8_000_000 }, []string{twentyTwo, index}},
		{"more WAL in one of the tables", func(r *Result) { r.Tables[1].Kinds[1].WALBytes = 60_000_001 }, []string{twentyTwo, wal}},
		{"slower keys in order", func(r *Result) { r.Tables[0].Kinds[1].Seconds = 4.1 }, []string{twentyTwo, faster}},
		{"22 times", func(r *Result) { r.Tables[0].Kinds[0].Seconds = 44 }, nil},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r := measured()
			c.change(r)
			if got := failed(r.findings()); !slices.Equal(got, c.not) {
				t.Errorf("these do not hold: %q, want %q", got, c.not)
			}
		})
	}
	for _, f := range measured().findings() {
		if must := slices.Contains([]string{large, works, once, index}, f.Claim); f.Must != must {
			t.Errorf("%q must hold: %t, want %t", f.Claim, f.Must, must)
		}
	}
}

func TestFindingsNameTheFiguresOfBothKinds(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, f := range measured().findings() {
		said[f.Claim] = f.Measured
	}
	for claim, want := range map[string]string{
		twentyTwo: "100,000 rows: 2.0 times in article 003's table, 2.0 times in idem.keys",
		"Time-ordered keys have index locality.": "pages read for 1,000 rows: " +
			"600 with UUIDv4, 0.0 with UUIDv7 in article 003's table; 600 with UUIDv4, 0.0 with UUIDv7 in idem.keys",
		"Use random keys. A V4 UUID works.": "of 200,000 UUIDv4 keys 0 were taken for one that was there; " +
			"1,000 payments under such keys, each sent twice, made 1,000 charges",
		"UUIDv7 keys are inserted faster once the index has outgrown its memory.": "microseconds a row: " +
			"40 with UUIDv4, 20 with UUIDv7 in article 003's table; 40 with UUIDv4, 20 with UUIDv7 in idem.keys",
	} {
		if said[claim] != want {
			t.Errorf("%s\n%s\nwant\n%s", claim, said[claim], want)
		}
	}
}
