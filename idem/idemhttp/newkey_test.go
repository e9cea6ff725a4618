package idemhttp

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestNewKeyIsAUUIDv7(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	variants := map[byte]bool{}
	for range 10_000 {
		key := NewKey()
		if !form.MatchString(key) || seen[key] {
			t.Fatalf("%q has another form, or was made before", key)
		}
		seen[key] = true
		variants[key[19]] = true
		if parsed, err := ParseKey([]string{key}); err != nil || parsed != key {
			t.Fatalf("%q is read as %q (%v)", key, parsed, err)
		}
	}
	if len(variants) != 4 {
		t.Errorf("the random bits after the variant take %d values, want 4", len(variants))
	}
}

// The example of RFC 9562, appendix A.6.
func TestKeyBirthIsTheUUIDsOwnTime(t *testing.T) {
	const example = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"
	want := time.Date(2022, time.February, 22, 19, 22, 22, 0, time.UTC)
	for _, key := range []string{example, strings.ToLower(example), `"` + example + `"`, `"` + example + `";v=1`} {
		if birth, ok := keyBirth(key); !ok || !birth.Equal(want) {
			t.Errorf("%s: born %v (%v), want %v", key, birth.UTC(), ok, want)
		}
	}
	for _, at := range []time.Time{time.UnixMilli(0), time.Now(), time.UnixMilli(1<<48 - 1)} {
		if birth, ok := keyBirth(newKeyAt(at)); !ok || birth.UnixMilli() != at.UnixMilli() {
			t.Errorf("made at %v, born %v (%v)", at, birth, ok)
		}
	}
}

func TestKeyOfAnotherFormHasNoBirth(t *testing.T) {
	for _, key := range []string{
		"", "order-17", transportK1, // version 4
		"017f22e279b07cc398c4dc0c0c07398f",       // no dashes: may be any 16 bytes
		"017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",   // another variant
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g",   // not hexadecimal
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398",    // too short
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f-1", // too long
		"017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
		"-17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		`"017f22e2-79b0-7cc3-98c4-dc0c0c07398f`,
	} {
		if birth, ok := keyBirth(key); ok {
			t.Errorf("%q was born %v", key, birth)
		}
	}
}
