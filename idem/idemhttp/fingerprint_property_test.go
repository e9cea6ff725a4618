package idemhttp_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/idem/internal/canonical"
)

func TestOrderWhiteSpaceAndEscapesNeverChangeTheFingerprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(4).Draw(t, "document")
		plain, other := jsonSample(v.spelled(plainly)), jsonSample(v.spelled(anyhow(t)))
		if plain.of(t, idemhttp.RequestFingerprint) != other.of(t, idemhttp.RequestFingerprint) {
			t.Fatalf("two spellings of one value are two requests: %q and %q", plain.body, other.body)
		}
	})
}

func TestAnyChangeOfValueNameOrDigitChangesTheFingerprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(4).Draw(t, "document")
		before := jsonSample(v.spelled(anyhow(t)))
		rapid.SampledFrom(v.all()).Draw(t, "place").change(t)
		after := jsonSample(v.spelled(anyhow(t)))
		if before.of(t, idemhttp.RequestFingerprint) == after.of(t, idemhttp.RequestFingerprint) {
			t.Fatalf("two values are one request: %q and %q", before.body, after.body)
		}
	})
}

// sameText reports whether two documents have one canonical text or, where a document has none, the same bytes.
func sameText(a, b []byte) bool {
	textA, okA := canonical.JSON(a)
	textB, okB := canonical.JSON(b)
	if okA && okB {
		return bytes.Equal(textA, textB)
	}
	return okA == okB && bytes.Equal(a, b)
}

// FuzzFingerprintsAreEqualExactlyWhenTextsAre takes two bodies, sent to one place.
func FuzzFingerprintsAreEqualExactlyWhenTextsAre(f *testing.F) {
	for _, row := range twice {
		f.Add([]byte(row.first.body), []byte(row.again.body))
	}
	f.Add([]byte("{\"a\":\"\xff\"}"), []byte("{\"a\":\"\xfe\"}"))
	f.Add([]byte(`"\ud800"`), []byte(`"\ufffd"`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, media := range []string{"application/json", "text/plain"} {
			want := sameText(a, b)
			if media != "application/json" {
				want = bytes.Equal(a, b)
			}
			got := typed(media, string(a)).of(t, idemhttp.RequestFingerprint) == typed(media, string(b)).of(t, idemhttp.RequestFingerprint)
			if got != want {
				t.Fatalf("%s: equal fingerprints: %t, equal texts: %t: %q and %q", media, got, want, a, b)
			}
			if typed(media, string(a)).of(t, idemhttp.RequestFingerprint) == typed("text/json", string(a)).of(t, idemhttp.RequestFingerprint) {
				t.Fatalf("%s and text/json: one request: %q", media, a)
			}
		}
	})
}

// The same with documents that are alike, which a fuzzer seldom finds: one is the other in another spelling, changed, or damaged.
func TestFingerprintsAreEqualExactlyWhenTextsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document(3).Draw(t, "document")
		a := []byte(v.spelled(anyhow(t)))
		if rapid.Bool().Draw(t, "changed") {
			rapid.SampledFrom(v.all()).Draw(t, "place").change(t)
		}
		b := []byte(v.spelled(anyhow(t)))
		if rapid.Bool().Draw(t, "damaged") {
			i := rapid.IntRange(0, len(b)).Draw(t, "where")
			b = append(append(bytes.Clone(b[:i]), rapid.SampledFrom([]string{" ", "x", "\"", ",", "\xff", `"a":1,`}).Draw(t, "damage")...), b[i:]...)
		}
		got := jsonSample(string(a)).of(t, idemhttp.RequestFingerprint) == jsonSample(string(b)).of(t, idemhttp.RequestFingerprint)
		if want := sameText(a, b); got != want {
			t.Fatalf("equal fingerprints: %t, equal texts: %t: %q and %q", got, want, a, b)
		}
	})
}
