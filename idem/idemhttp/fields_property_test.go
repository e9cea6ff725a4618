package idemhttp_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// fields draws what Omit and Only are told: members that are there, and some that are not.
func fields(t *rapid.T, v *value) (names []string) {
	if there := v.paths(); len(there) > 0 {
		names = rapid.SliceOfN(rapid.SampledFrom(there), 0, 3).Draw(t, "there")
	}
	return append(names, rapid.SliceOfN(anyText(), 0, 2).Draw(t, "elsewhere")...)
}

// Omit is RequestFingerprint of what is left, which an independent implementation finds. With the properties of that one, members
// left out never matter and all others do.
func TestOmitIsTheFingerprintOfTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(4).Draw(t, "document")
		names := fields(t, v)
		sent := jsonSample(v.spelled(anyhow(t)))
		for _, name := range names {
			if in, i := v.at(strings.Split(name, ".")); i >= 0 {
				in.names, in.values = slices.Delete(in.names, i, i+1), slices.Delete(in.values, i, i+1)
			}
		}
		rest := jsonSample(v.spelled(plainly))
		if sent.of(t, idemhttp.Omit(names...)) != rest.of(t, idemhttp.RequestFingerprint) {
			t.Fatalf("Omit(%q) of %q is not the fingerprint of %q", names, sent.body, rest.body)
		}
	})
}

// Only is RequestFingerprint of an object of the chosen members by the names that chose them.
func TestOnlyIsTheFingerprintOfTheChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(4).Draw(t, "document")
		names := fields(t, v)
		chosen := &value{kind: '{'}
		for _, name := range names {
			if in, i := v.at(strings.Split(name, ".")); i >= 0 && !slices.Contains(chosen.names, name) {
				chosen.names, chosen.values = append(chosen.names, name), append(chosen.values, in.values[i])
			}
		}
		sent, rest := jsonSample(v.spelled(anyhow(t))), jsonSample(chosen.spelled(plainly))
		if sent.of(t, idemhttp.Only(names...)) != rest.of(t, idemhttp.RequestFingerprint) {
			t.Fatalf("Only(%q) of %q is not the fingerprint of %q", names, sent.body, rest.body)
		}
	})
}

// The two halves said directly: a change behind an omitted name is none, any other change is one.
func TestOmittedMembersNeverMatterAndAllOthersDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(3).Draw(t, "document")
		v.names, v.values = append(v.names, "omitted"), append(v.values, &value{kind: '0', text: "1"})
		rule := idemhttp.Omit("omitted")
		before := jsonSample(v.spelled(anyhow(t)))

		volatile := v.clone()
		in, i := volatile.at([]string{"omitted"})
		in.values[i] = document(2).Draw(t, "volatile")
		if other := jsonSample(volatile.spelled(anyhow(t))); before.of(t, rule) != other.of(t, rule) {
			t.Fatalf("an omitted member matters: %q and %q", before.body, other.body)
		}

		in.names, in.values = slices.Delete(in.names, i, i+1), slices.Delete(in.values, i, i+1)
		rapid.SampledFrom(volatile.all()).Draw(t, "place").change(t)
		if other := jsonSample(volatile.spelled(anyhow(t))); before.of(t, rule) == other.of(t, rule) {
			t.Fatalf("a member that is not omitted does not matter: %q and %q", before.body, other.body)
		}
	})
}
