package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/throughput"
	"github.com/pgidem/pgidem/lab/report"
)

var smallThroughput = []string{
	"throughput", "--keys=40", "--workers=8", "--connections=4", "--trials=2", "--waves=2", "--delay=5ms",
}

func TestThroughputPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(smallThroughput...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"40 unique keys from 8 workers over 4 connections", "8,837", "times Redis", "Store.Hold",
		"all with one key", "holds     article 003: A load with unique keys",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\r") {
		t.Errorf("it writes to a file as to a terminal:\n%q\n%q", stdout, stderr)
	}
	if !strings.Contains(stderr.String(), "unique keys, turns: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestThroughputWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(smallThroughput, "--skip-redis", "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 throughput.Result
		Findings               []report.Finding
		Skipped                []string
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "throughput" || doc.PostgreSQL == "" || len(doc.Findings) != 10 || len(doc.Skipped) != 1 {
		t.Errorf("%+v", doc)
	}
	r := doc.Result
	if r.Keys != 40 || r.Connections != 4 || len(r.Rows) != 6 || len(r.Hot) != 4 || len(r.Crowds) != 4 {
		t.Errorf("%+v", r)
	}
	for _, row := range r.Rows {
		skipped := row.Skipped != ""
		if skipped != (row.Design == "Redis SET NX") || row.TimesRedis != nil || !skipped && row.TimesClaim.Low <= 0 {
			t.Errorf("%+v", row)
		}
	}
}

func TestWrongUseOfThroughputIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"throughput now", `unknown command "now"`},
		{"throughput --speed 9", "unknown flag: --speed"},
		{"throughput --keys many", `invalid argument "many"`},
		{"throughput --connections 351", "--connections is 351; it must be 1 to 350"},
		{"throughput --waves 0", "--waves is 0; it must be at least 1"},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd, stdout, stderr := lab(strings.Fields(c.args)...)
			if got := code(t, cmd.Run()); got != 2 {
				t.Errorf("exit code %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "--help") || stdout.Len() > 0 {
				t.Errorf("it says %q and prints %q; want %q", stderr, stdout, c.says)
			}
		})
	}
}
