package idem

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// Fingerprint says which request a key was used for: a key that comes back with another one is refused (ErrMismatch). Its first
// byte is the version of the algorithm, the rest that version's digest; compare with ==. The bytes are stored with the key and
// outlive the binary that computed them, so what a version computes never changes. The zero value is no fingerprint and is
// refused.
//
// Version 1 is the byte 0x01 and the 32 bytes of a SHA-256. The digest hides nothing: whoever can guess the request can check
// the guess.
type Fingerprint string

// AnyRequest is the explicit choice not to compare requests: a caller who passes it gets the key's answer whatever request the
// key was used for. A key stored under AnyRequest is a mismatch to a caller who does compare.
const AnyRequest Fingerprint = "\x00"

// fingerprintVersion is what FingerprintOf and FingerprintJSON compute. Another algorithm, or another canonical text, is another
// version, and FingerprintAt and FingerprintJSONAt keep computing this one.
const fingerprintVersion = 1

// What a digest was computed over stands at its head, so that two kinds never collide.
const (
	fingerprintParts = "pgidem fingerprint 1 parts\n" // FingerprintOf
	fingerprintText  = "pgidem fingerprint 1 json\n"  // FingerprintJSON, last part a canonical text
	fingerprintRaw   = "pgidem fingerprint 1 raw\n"   // FingerprintJSON, last part the document as it came
)

// FingerprintOf returns the fingerprint of a list of byte strings. Two lists have the same one exactly when they have the same
// number of parts and each part the same bytes: ("ab", "c") is not ("a", "bc"), and ("a") is not ("a", ""). A nil part is an
// empty one. Within version 1 this never changes.
//
// Whatever makes two requests different belongs in it, at least method, path, query and body; what changes from one try to the
// next (Date, User-Agent, a trace id) does not.
func FingerprintOf(parts ...[]byte) Fingerprint {
	return fingerprintDigest(fingerprintParts, parts)
}

// FingerprintAt returns what FingerprintOf returns, or returned, at the given version. It is for the caller whose KeyError says
// that the key was stored under another version than its own: compute that one and ask once more. A version that this build does
// not know is an error: a newer build stored the key, and this one cannot say whether the request is the same, so it must not
// run (503, not 422). So is 0, which no algorithm has.
//
// It stands for FingerprintOf alone; FingerprintJSONAt is that of FingerprintJSON. Which of the two computed a fingerprint is not
// to be seen in it, so a caller asks by the one that it uses.
func FingerprintAt(version byte, parts ...[]byte) (Fingerprint, error) {
	if err := knownVersion(version); err != nil {
		return "", err
	}
	return FingerprintOf(parts...), nil
}

// FingerprintJSONAt returns what FingerprintJSON returns, or returned, at the given version; see FingerprintAt.
func FingerprintJSONAt(version byte, doc []byte, parts ...[]byte) (Fingerprint, error) {
	if err := knownVersion(version); err != nil {
		return "", err
	}
	return FingerprintJSON(doc, parts...), nil
}

func knownVersion(version byte) error {
	if version != fingerprintVersion {
		return fmt.Errorf("idem: fingerprint version %d is unknown; this build knows version %d", version, fingerprintVersion)
	}
	return nil
}

// FingerprintJSON returns the fingerprint of parts and a JSON document. Parts are compared as FingerprintOf compares them. Two
// documents are the same when they differ in nothing but the order of an object's members, white space between tokens, and how
// characters are escaped in strings and names ("é" or "\u00e9", "/" or "\/").
//
// All else makes another request. Numbers are compared by their characters, so 2^53 and 2^53+1 differ, and so do 1, 1.0 and 1e0,
// and -0 and 0; none is too large. Arrays are compared in order. Names that differ in case differ, an absent member is not null,
// and Unicode is not normalised.
//
// A document that receivers may read in more than one way, or not at all, is the same only as one with equal bytes: a name that
// occurs twice in one object, invalid UTF-8, an escaped half of a surrogate pair, a byte order mark, trailing text, more than
// 1,000 arrays and objects inside each other, an empty document, and everything else that is not JSON by RFC 8259. Such a
// document never has the fingerprint of one that is JSON, and FingerprintJSON never returns what FingerprintOf does. Within
// version 1 none of this changes.
func FingerprintJSON(doc []byte, parts ...[]byte) Fingerprint {
	kind := fingerprintRaw
	if text, ok := canonical.JSON(doc); ok {
		kind, doc = fingerprintText, text
	}
	return fingerprintDigest(kind, slices.Concat(parts, [][]byte{doc}))
}

// Version returns the version of the algorithm that computed f, which is f's first byte and at present 1. It is 0 for AnyRequest
// and for the zero value, which no algorithm computed.
func (f Fingerprint) Version() byte {
	if f == "" {
		return 0
	}
	return f[0]
}

// fingerprintDigest hashes kind, then of each part its length (8 bytes, big-endian) and its bytes.
func fingerprintDigest(kind string, parts [][]byte) Fingerprint {
	h := sha256.New()
	h.Write([]byte(kind))
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return Fingerprint(h.Sum([]byte{fingerprintVersion}))
}

// at is f with an endpoint folded in, for a key that is shared by all endpoints. The version stays, so that an older one is
// still known for what it is.
func (f Fingerprint) at(endpoint string) Fingerprint {
	return f[:1] + fingerprintDigest(fingerprintParts, [][]byte{[]byte(f), []byte(endpoint)})[1:]
}
