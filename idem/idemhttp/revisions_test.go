package idemhttp_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// at is the fingerprint of s by rule at a version.
func (s sample) at(rule idemhttp.Fingerprinter, version byte) (idem.Fingerprint, error) {
	return rule(s.request(), []byte(s.body), version)
}

func TestLastRevisionIsInForceAndOlderOnesAreStillKnown(t *testing.T) {
	s := jsonSample(`{"amount":1,"sent_at":"10:00"}`)
	rules := []idemhttp.Fingerprinter{idemhttp.RequestFingerprint, idemhttp.Omit("sent_at"), idemhttp.Only("amount")}
	for n := 1; n <= len(rules); n++ {
		route := idemhttp.Revisions(rules[:n]).Fingerprint
		present, err := s.at(route, 0)
		if want := byte(n-1)<<4 | 1; err != nil || present.Version() != want {
			t.Errorf("%d revisions: version %#x, %v; want %#x", n, present.Version(), err, want)
		}
		for place, rule := range rules[:n] {
			older, err := s.at(route, byte(place)<<4|1)
			if want := s.of(t, rule); err != nil || older.Version() != byte(place)<<4|1 || older[1:] != want[1:] {
				t.Errorf("%d revisions: at place %d: %x, %v; want %x behind its version", n, place, older, err, want)
			}
			if place == n-1 && older != present {
				t.Errorf("%d revisions: the present one, asked for by its version, is another: %x and %x", n, older, present)
			}
		}
	}
}

// A route that had no Revisions until now takes them without a break: what it has stored is the first one's.
func TestFirstRevisionStoresWhatTheRuleAloneStored(t *testing.T) {
	for _, s := range []sample{jsonSample(`{"a":1}`), jsonSample(`{"a":1} x`), form("a=1")} {
		alone := s.of(t, idemhttp.RequestFingerprint)
		if first := s.of(t, idemhttp.Revisions{idemhttp.RequestFingerprint}.Fingerprint); first != alone {
			t.Errorf("%v: %x, and %x under Revisions", s, alone, first)
		}
		grown := idemhttp.Revisions{idemhttp.RequestFingerprint, idemhttp.Omit("a")}
		if older, err := s.at(grown.Fingerprint, alone.Version()); older != alone || err != nil {
			t.Errorf("%v: %x, and %x, %v under Revisions", s, alone, older, err)
		}
	}
}

func TestUnknownRevisionIsAnError(t *testing.T) {
	s := jsonSample(`{"a":1}`)
	rule := idemhttp.Fingerprinter(idemhttp.RequestFingerprint)
	two := idemhttp.Revisions{rule, rule}
	retired := idemhttp.Revisions{nil, rule}
	full := make(idemhttp.Revisions, 16)
	full[15] = rule
	for _, row := range []struct {
		name    string
		rules   idemhttp.Revisions
		version byte
		known   bool
	}{
		{"the present one", two, 0, true},
		{"the first one", two, 0x01, true},
		{"the second one", two, 0x11, true},
		{"a third one", two, 0x21, false},
		{"the first one at the rule's version 2", two, 0x02, false},
		{"the second one at the rule's version 2", two, 0x12, false},
		{"the second one at no version of the rule's", two, 0x10, false}, // and not its present one under another name
		{"the last byte", two, 0xff, false},
		{"one that is out of force", retired, 0x01, false},
		{"one beside it", retired, 0x11, true},
		{"the last place", full, 0xf1, true},
		{"the last place is in force", full, 0, true},
		{"one place too many", append(full, rule), 0, false},
		{"none", nil, 0, false},
		{"none at version 1", nil, 1, false},
		{"the last is nil", idemhttp.Revisions{rule, nil}, 0, false},
	} {
		f, err := s.at(row.rules.Fingerprint, row.version)
		if (err == nil) != row.known || (f == "") == row.known {
			t.Errorf("%s: %x, %v; known: %t", row.name, f, err, row.known)
		}
		if row.known && row.version != 0 && f.Version() != row.version {
			t.Errorf("%s: version %#x, want %#x", row.name, f.Version(), row.version)
		}
	}
}

func TestRulesOfRevisionsKeepTheirErrorsAndChoices(t *testing.T) {
	broken := errors.New("broken")
	answers := func(f idem.Fingerprint, err error) idemhttp.Revisions {
		rule := func(*http.Request, []byte, byte) (idem.Fingerprint, error) { return f, err }
		return idemhttp.Revisions{idemhttp.RequestFingerprint, rule}
	}
	s := jsonSample(`{}`)
	if f, err := s.at(answers("", broken).Fingerprint, 0); f != "" || !errors.Is(err, broken) {
		t.Errorf("%x, %v; want the rule's error", f, err)
	}
	if f, err := s.at(answers(idem.AnyRequest, nil).Fingerprint, 0); f != idem.AnyRequest || err != nil {
		t.Errorf("%x, %v; want AnyRequest", f, err)
	}
	if f, err := s.at(answers("\x0fdigest", nil).Fingerprint, 0); f != "\x1fdigest" || err != nil {
		t.Errorf("%x, %v; want the digest behind 1f", f, err)
	}
	for _, f := range []idem.Fingerprint{"", "\x10digest", "\x00digest"} { // no room for its version, or none
		if got, err := s.at(answers(f, nil).Fingerprint, 0); got != "" || err == nil {
			t.Errorf("%x: %x, %v; want an error", f, got, err)
		}
	}
}
