package keys

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/pgidem/pgidem/lab/workbench"
)

// Large enough that the index outgrows shared_buffers.
var small = &Keys{Rows: MinRows, Payments: 50}

func TestKeys(t *testing.T) {
	t.Parallel()
	var steps atomic.Int64
	ends := 0
	bench := &workbench.Bench{Steps: func(string, int) (func(), func()) {
		return func() { steps.Add(1) }, func() { ends++ }
	}}
	got, err := small.Run(t.Context(), bench)
	if err != nil {
		t.Fatal(err)
	}
	r := got.(*Result)
	for _, f := range r.Section().Failed() {
		t.Errorf("%+v", f)
	}
	if steps.Load() != 2*(2*inserts+rounds) || ends != 3 {
		t.Errorf("progress was told of %d steps and %d ends", steps.Load(), ends)
	}
	if len(r.Tables) != 2 || len(r.Payments) != 2 || r.SharedBuffersBytes != 63*8192 || r.Settings["shared_buffers"] != "504kB" {
		t.Fatalf("%d tables, %d payments, %d bytes of shared_buffers, %v", len(r.Tables), len(r.Payments), r.SharedBuffersBytes, r.Settings)
	}
	for _, table := range r.Tables {
		t.Run(table.Name, func(t *testing.T) { r.holds(t, table) })
	}
	for i, p := range r.Payments {
		if p.Kind != kinds[i].name || p.Payments != 50 || p.Charges != 50 || p.Replays+p.InFlight != 50 || p.Duplicates != 0 || p.Missing != 0 {
			t.Errorf("%+v; want 50 charges and 50 replays", p)
		}
		if len(p.PerSecond) != rounds || p.PerSecond[0] <= 0 {
			t.Errorf("rates %v", p.PerSecond)
		}
	}
}

// holds checks what logic says of a table.
func (r *Result) holds(t *testing.T, table Table) {
	v4, v7 := table.v4(), table.v7()
	for i, k := range table.Kinds {
		if k.Name != kinds[i].name || k.Rows != MinRows || k.Seconds <= 0 || len(k.Inserts) != inserts {
			t.Errorf("%s: %d rows in %f s, %d inserts", k.Name, k.Rows, k.Seconds, len(k.Inserts))
		}
		if k.IndexBytes < 4*r.SharedBuffersBytes {
			t.Errorf("%s: an index of %d bytes for shared_buffers of %d", k.Name, k.IndexBytes, r.SharedBuffersBytes)
		}
	}
	if v7.IndexBytes >= v4.IndexBytes || v7.TableBytes != v4.TableBytes {
		t.Errorf("indexes of %d and %d bytes on tables of %d and %d", v4.IndexBytes, v7.IndexBytes, v4.TableBytes, v7.TableBytes)
	}
	// A tenth is far more than the random keys of a run differ by.
	if v7.WALBytes >= v4.WALBytes*9/10 || v7.FullPageImages*10 >= v4.FullPageImages {
		t.Errorf("%d and %d bytes of WAL, %d and %d pages logged whole", v4.WALBytes, v7.WALBytes, v4.FullPageImages, v7.FullPageImages)
	}
	if v4.BlocksRead < MinRows/10 || v7.BlocksRead > MinRows/1000 {
		t.Errorf("%d and %d pages read; want one for many a random key and hardly any for keys in order", v4.BlocksRead, v7.BlocksRead)
	}
}

func TestWALIsCountedAsTheServerWritesIt(t *testing.T) {
	t.Parallel()
	s, err := small.start(t.Context(), new(workbench.Bench), kinds[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	at := func() (bytes int64) {
		if err := s.Pool.QueryRow(t.Context(), "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").Scan(&bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	for _, table := range tables {
		before := at()
		did, err := s.insert(t.Context(), table, 5000)
		if err != nil {
			t.Fatal(err)
		}
		if written := at() - before; did.WALBytes <= 0 || written < did.WALBytes || written > did.WALBytes*11/10 {
			t.Errorf("%s: counted %d bytes, and the log has grown by %d", table.name, did.WALBytes, written)
		}
	}
}

// The rows that stand for what Store.Do leaves must be what it leaves.
func TestRowsOfTheProductAreAsStoreDoLeavesThem(t *testing.T) {
	t.Parallel()
	s, err := small.start(t.Context(), new(workbench.Bench), kinds[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.insert(t.Context(), tables[1], 1); err != nil {
		t.Fatal(err)
	}
	if _, err := small.pay(t.Context(), new(workbench.Bench), []*server{s}); err != nil {
		t.Fatal(err)
	}
	var shapes int
	err = s.Pool.QueryRow(t.Context(), `SELECT count(DISTINCT (status, leased, attempts, response_status, response_header,
		locked_until, handler, request, provider_ref, tenant_id, endpoint, octet_length(fingerprint), octet_length(key),
		expires_at - completed_at > interval '23 hours')) FROM idem.keys`).Scan(&shapes)
	if err != nil || shapes != 1 {
		t.Errorf("%d shapes of rows, %v; want one", shapes, err)
	}
}

func TestKeysAreUUIDsOfTheirKind(t *testing.T) {
	t.Parallel()
	for i, version := range []uuid.Version{4, 7} {
		some, err := kinds[i].some(1000)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		last := ""
		for _, text := range some {
			key, err := uuid.Parse(text)
			if err != nil || key.Version() != version || key.String() != text || seen[text] {
				t.Fatalf("%q: %v", text, err)
			}
			if version == 7 && text <= last {
				t.Errorf("%s comes after %s", text, last)
			}
			seen[text], last = true, text
		}
	}
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	t.Parallel()
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for says, k := range map[string]Keys{
		"":                        *small,
		"--rows is 49950; it":     {Rows: 49_950, Payments: 50},
		"--rows is 50001; it":     {Rows: 50_001, Payments: 50},
		"--payments is 0; it":     {Rows: 50_000},
		"--payments is 7; it":     {Rows: 50_000, Payments: 7},
		"in steps of 50":          {Rows: 50_049, Payments: 50},
		"must be at least 5, in ": {Rows: 50_000, Payments: -5},
	} {
		err := k.Check()
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: error %v, want %q", k, err, says)
		}
	}
}
