package idem_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// BenchmarkStorage weighs the ways to store response_body: what a completion and a replay cost by them, in time, in processor time
// of the server's process (on Linux), in WAL and on disk. Each way has a database of its own on one server, and they take turns, so
// that whatever else the machine does hits all of them. It prints a table for each body.
//
//	go test -run '^$' -bench Storage -benchtime 40x ./idem
func BenchmarkStorage(b *testing.B) {
	server := testdb.Server(b, devpg.Options{Settings: map[string]string{
		// commits reach the disk, as in production; whole pages would come and go with checkpoints
		"autovacuum": "off", "full_page_writes": "off", "max_wal_size": "32GB", "default_toast_compression": "pglz",
	}})
	ways := []*storage{
		{name: "EXTENDED, pglz", alter: "SET STORAGE EXTENDED"}, // as the schema has it
		{name: "MAIN, pglz", alter: "SET STORAGE MAIN"},
		{name: "EXTERNAL", alter: "SET STORAGE EXTERNAL"},
		{name: "EXTENDED, lz4", alter: "SET COMPRESSION lz4"},
	}
	var leftOut string
	ways = slices.DeleteFunc(ways, func(w *storage) bool {
		err := w.open(b, server.Server.URL())
		if err != nil {
			leftOut += fmt.Sprintf("left out: %s (%v)\n", w.name, err)
		}
		return err != nil
	})

	for _, kind := range []struct {
		name string
		make func(*rand.Rand, int) []byte
	}{{"JSON", pageOfCharges}, {"random", noise}} {
		for _, kib := range []int{1, 4, 16, 256, 1024} {
			body := kind.make(rand.New(rand.NewPCG(1, uint64(kib))), kib<<10)
			b.Run(fmt.Sprintf("%s/%dKiB", kind.name, kib), func(b *testing.B) {
				for _, w := range ways {
					w.empty(b)
				}
				for b.Loop() {
					for _, i := range rand.Perm(len(ways)) {
						ways[i].round(b, body)
					}
				}
				b.ReportMetric(0, "ns/op") // of all of them: says nothing
				b.Log(storageTable(b, ways) + leftOut)
			})
		}
	}
}

// storage is a way to store bodies.
type storage struct {
	name, alter string

	conn  *pgx.Conn
	keys  int
	bytes int64 // of the tables when they were empty

	completion, replay struct{ wall, cpu samples }
	wal                samples
}

// open makes the way's database. The error says why the server does not know the way.
func (w *storage) open(b *testing.B, url string) error {
	connect := func(database string) *pgx.Conn {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			b.Fatal(err)
		}
		config.Database = database
		conn, err := pgx.ConnectConfig(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	if _, err := connect("postgres").Exec(b.Context(), fmt.Sprintf("CREATE DATABASE %q TEMPLATE app", w.name)); err != nil {
		b.Fatal(err)
	}
	w.conn = connect(w.name)
	_, err := w.conn.Exec(b.Context(), "ALTER TABLE idem.keys ALTER COLUMN response_body "+w.alter)
	return err
}

func (w *storage) empty(b *testing.B) {
	if _, err := w.conn.Exec(b.Context(), "TRUNCATE idem.keys CASCADE"); err != nil {
		b.Fatal(err)
	}
	w.bytes = w.onDisk(b)
	w.completion.wall, w.completion.cpu, w.replay.wall, w.replay.cpu, w.wal = nil, nil, nil, nil, nil
}

// onDisk is the size of the table and of what it keeps out of line, without the indexes of the keys.
func (w *storage) onDisk(b *testing.B) (bytes int64) {
	err := w.conn.QueryRow(b.Context(), `SELECT pg_relation_size(oid) + pg_total_relation_size(reltoastrelid)
		FROM pg_class WHERE oid = 'idem.keys'::regclass`).Scan(&bytes)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// round claims a key, completes it with body, and replays it three times.
func (w *storage) round(b *testing.B, body []byte) {
	w.keys++
	key := fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(w.keys)*0x9E3779B1, w.keys)
	id := pgtype.UUID{Bytes: [16]byte{15: 1}, Valid: true}
	claimed, err := gen.New().KeyClaim(b.Context(), w.conn, gen.KeyClaimParams{
		Lease: time.Minute, Retention: time.Hour, ClaimID: id, Leased: true,
		TenantID: "merchant", Endpoint: "POST /charges", Key: key, Fingerprint: make([]byte, 33),
	})
	if err != nil {
		b.Fatal(err)
	}
	before := w.insertedWAL(b)
	w.timed(&w.completion.wall, &w.completion.cpu, func() {
		_, err = gen.New().KeyComplete(b.Context(), w.conn, gen.KeyCompleteParams{
			Retention: time.Hour, ClaimID: id, ResponseStatus: 201, Status: "committed",
			ResponseHeader: []byte("Content-Type: application/json\r\n"), ResponseBody: body,
			TenantID: "merchant", Endpoint: "POST /charges", Key: key, Fence: claimed.Fence,
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	w.wal = append(w.wal, w.insertedWAL(b)-before)
	for range 3 {
		var found gen.KeyLoadRow
		w.timed(&w.replay.wall, &w.replay.cpu, func() {
			found, err = gen.New().KeyLoad(b.Context(), w.conn, gen.KeyLoadParams{TenantID: "merchant", Endpoint: "POST /charges", Key: key})
		})
		if err != nil || !bytes.Equal(found.ResponseBody, body) {
			b.Fatalf("%d bytes came back of %d: %v", len(found.ResponseBody), len(body), err)
		}
	}
}

func (w *storage) insertedWAL(b *testing.B) (bytes float64) {
	if err := w.conn.QueryRow(b.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8").Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	return bytes
}

// timed adds what f takes, in microseconds.
func (w *storage) timed(wall, cpu *samples, f func()) {
	usedBefore, began := w.used(), time.Now()
	f()
	*wall = append(*wall, float64(time.Since(began).Nanoseconds())/1000)
	*cpu = append(*cpu, float64((w.used()-usedBefore).Nanoseconds())/1000)
}

// used is the processor time of the connection's server process; 0 where it cannot be known.
func (w *storage) used() (used time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", w.conn.PgConn().PID()))
	if err == nil {
		_, err = fmt.Sscan(string(stat), (*int64)(&used))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return used
}

type samples []float64

func (s samples) median() float64 {
	slices.Sort(s)
	return s[len(s)/2]
}

// storageTable has a line a way: medians, and in brackets their ratio to the first way's.
func storageTable(b *testing.B, ways []*storage) string {
	var t strings.Builder
	fmt.Fprintf(&t, "\n%-15s %22s %22s %22s %22s %20s %20s\n", "", "completion µs", "of it processor", "replay µs", "of it processor", "WAL bytes", "on disk bytes")
	var first []float64
	for _, w := range ways {
		figures := []float64{
			w.completion.wall.median(), w.completion.cpu.median(), w.replay.wall.median(), w.replay.cpu.median(), w.wal.median(),
			float64(w.onDisk(b)-w.bytes) / float64(len(w.wal)),
		}
		if first == nil {
			first = figures
		}
		fmt.Fprintf(&t, "%-15s", w.name)
		for i, f := range figures {
			fmt.Fprintf(&t, " %*.0f (%5.2f)", 14-2*(i/4), f, f/first[i])
		}
		t.WriteByte('\n')
	}
	return t.String()
}
