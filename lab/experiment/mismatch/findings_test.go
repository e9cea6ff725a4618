package mismatch

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// as is an experiment that went as the article says.
func as() *Result {
	r := &Result{Callers: 8}
	for _, d := range []string{noFingerprint, fingerBody, fingerBoth, storeDo, handlerTx, tenantScope} {
		for _, s := range scenes {
			e := Exchange{
				Scene: s.name, Design: d, Ours: slices.Contains(ours, d), Asked: s.second.kind, AskedCents: s.second.cents,
				Status: 200, Replayed: true, Named: "charge", NamedCents: s.first.cents, ChargedCents: s.first.cents,
			}
			switch {
			case d == noFingerprint, d == fingerBody && s.name == elsewhere, e.Ours && s.name == rewritten: // a replay
			case e.Ours && d != tenantScope && s.name == elsewhere:
				e.Named, e.Replayed, e.RefundedCents = "refund", false, s.second.cents
			default:
				e.Status, e.Replayed, e.Named, e.NamedCents = 422, false, "", 0
			}
			r.Exchanges = append(r.Exchanges, e)
		}
	}
	for _, w := range []string{stringTwice, numberString, throughFloat, storeDo, handlerTx} {
		for _, id := range ids {
			one := Receipt{Writer: w, Ours: slices.Contains(ours, w), ID: id, Replays: 7, SameBytes: true, SameValue: true}
			one.First = string(receipt(id))
			switch {
			case w == stringTwice:
				one.First = string(asString(id))
			case w == numberString:
				one.Later, one.SameBytes, one.SameValue = string(asString(id)), false, false
			case w == throughFloat && id == ids[1]:
				one.Later, one.SameBytes, one.SameValue = string(receipt(id-1)), false, false
			}
			if one.Later == "" {
				one.Later = one.First
			}
			r.Receipts = append(r.Receipts, one)
		}
	}
	return r
}

func TestEveryFindingFallsWithItsFigure(t *testing.T) {
	exchange := func(scene, design string, change func(*Exchange)) func(*Result) {
		return func(r *Result) {
			change(&r.Exchanges[slices.Index(r.Exchanges, r.exchange(scene, design))])
		}
	}
	receipt := func(writer string, id int64, change func(*Receipt)) func(*Result) {
		return func(r *Result) {
			change(&r.Receipts[slices.Index(r.Receipts, r.receipt(writer, id))])
		}
	}
	refused := func(e *Exchange) { e.Status, e.Named, e.NamedCents, e.Replayed = 422, "", 0, false }
	replayed := func(e *Exchange) { e.Status, e.Named, e.NamedCents, e.Replayed = 200, "charge", 49_00, true }
	again := func(e *Exchange) { e.ChargedCents *= 2 }
	same := func(r *Receipt) { r.Later, r.SameBytes, r.SameValue = r.First, true, true }
	other := func(r *Receipt) { r.Later, r.SameBytes, r.SameValue = "{}", false, false }
	breaks := map[string][]func(*Result){
		"Without a fingerprint":     {exchange(larger, noFingerprint, refused), exchange(larger, noFingerprint, again)},
		"In the reverse order":      {exchange(smaller, noFingerprint, refused), exchange(smaller, noFingerprint, again)},
		"A fingerprint of endpoint": {exchange(larger, fingerBoth, replayed), exchange(smaller, fingerBoth, again)},
		"It catches the same key":   {exchange(elsewhere, fingerBoth, replayed)},
		"The fingerprint has to":    {exchange(elsewhere, fingerBody, refused)},
		"The same key returns 1":    {receipt(numberString, ids[0], same)},
		"An id that is a string":    {receipt(stringTwice, ids[0], other)},
		"An id of 64 bits":          {receipt(throughFloat, ids[1], same)},
		"A key that comes with": {
			exchange(larger, storeDo, replayed), exchange(smaller, handlerTx, again), exchange(larger, tenantScope, replayed),
		},
		"A refund under": {
			exchange(elsewhere, storeDo, replayed), exchange(elsewhere, handlerTx, refused),
			exchange(elsewhere, tenantScope, replayed),
		},
		"A request whose JSON": {
			exchange(rewritten, storeDo, refused), exchange(rewritten, handlerTx, again),
			exchange(rewritten, tenantScope, refused),
		},
		"A replay has the bytes": {receipt(storeDo, ids[0], other), receipt(handlerTx, ids[1], other)},
	}
	if got := as().findings(); len(got) != len(breaks) {
		t.Errorf("%d findings, %d are broken here", len(got), len(breaks))
	}
	for begins, all := range breaks {
		if f := finding(t, as(), begins); !f.Holds || !f.Must {
			t.Errorf("%s ...: holds is %t for an experiment that went as the article says", begins, f.Holds)
		}
		for i, change := range all {
			r := as()
			change(r)
			if finding(t, r, begins).Holds {
				t.Errorf("%s ...: it holds without its figure (%d)", begins, i)
			}
		}
		if finding(t, &Result{}, begins).Holds {
			t.Errorf("%s ...: it holds where nothing ran", begins)
		}
	}
}

func finding(t *testing.T, r *Result, begins string) report.Finding {
	t.Helper()
	for _, f := range r.findings() {
		if strings.HasPrefix(f.Claim, begins) {
			return f
		}
	}
	t.Fatalf("no finding begins with %s", begins)
	return report.Finding{}
}

func TestSectionOfAMismatch(t *testing.T) {
	s := as().Section()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if s.Name != "mismatch" || !strings.Contains(s.Lead, "6 designs") || !strings.Contains(s.Lead, "8 callers") {
		t.Errorf("%s, %s: %s", s.Name, s.Articles, s.Lead)
	}
	rows := map[string]string{}
	tones := map[string]chart.Tone{}
	for _, row := range s.Tables[0].Rows {
		rows[row.Cells[0]] = strings.Join(row.Cells[1:], " | ")
		tones[row.Cells[0]] = row.Tone
	}
	for name, want := range map[string]string{
		noFingerprint: "charge of $49.00 | charge of $9,000.00 | charge of $49.00 | charge of $49.00",
		fingerBody:    "422 | 422 | charge of $49.00 | 422",
		handlerTx:     "422 | 422 | refund of $49.00 | charge of $49.00",
		tenantScope:   "422 | 422 | 422 | charge of $49.00",
	} {
		if rows[name] != want {
			t.Errorf("%s: %s, want %s", name, rows[name], want)
		}
	}
	want := map[string]chart.Tone{
		noFingerprint: chart.Bad, fingerBody: chart.Bad, fingerBoth: chart.Plain, storeDo: chart.Good, handlerTx: chart.Good,
		tenantScope: chart.Good, "article 000, no fingerprint": chart.Article, "article 000, fingerprint of both": chart.Article,
	}
	if !maps.Equal(tones, want) {
		t.Errorf("tones %v", tones)
	}
	bars := s.Charts[0].(chart.Bars).Bars
	if len(bars) != 7 || bars[0].Value != 9_000 || bars[1].Value != 49 || bars[1].Article != 49 || bars[1].Tone != chart.Bad {
		t.Errorf("%+v", bars)
	}
	if bars[4].Value != 0 || bars[4].Text != "422, no receipt" || bars[4].Tone != chart.Good {
		t.Errorf("the product's bar: %+v", bars[4])
	}
	if n := len(s.Tables[1].Rows); n != 11 {
		t.Errorf("%d receipts, want 10 and the article's", n)
	}
}
