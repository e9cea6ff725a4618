// Package canonical gives one spelling to all JSON documents that say the same.
package canonical

import "unicode/utf8"

// maxDepth is how many arrays and objects may be open at once. It bounds the stack (under 1 MB) and stands above what handlers
// meet: of the common parsers .NET stops at 64, Ruby at 100, serde_json at 128, PHP at 512, Jackson at 1,000. encoding/json
// stops at 10,000; a request between the two is compared by its bytes, which is stricter, never wrong.
const maxDepth = 1000

// JSON returns the canonical text of doc, one JSON document (RFC 8259) in UTF-8. It returns nil and false for a document that
// has none; the caller then compares its raw bytes.
//
// Two documents have the same text exactly when they differ in nothing but
//   - the order of an object's members,
//   - white space between tokens,
//   - how the characters of a string or name are escaped.
//
// All else counts: the order of an array, the case of names, every character of a number (1, 1.0, 1e0 and 1E0 are four numbers,
// so are 2^53 and 2^53+1, and -0 is not 0; no number is out of range), null against an absent member, and the code points of a
// string (no Unicode normalisation).
//
// The text is JSON without white space, never longer than doc and its own canonical text. Strings are spelled as in RFC 8785
// 3.2.2.2: \" \\ \b \f \n \r \t, \u00xx in lower-case hex for the other characters below U+0020, all else literal. Members stand
// in the order of the bytes of their names as so spelled, the closing quote not counted.
//
// No canonical text: anything that is not exactly one JSON value (empty input, trailing text, a byte order mark), a member name
// that occurs twice in one object once unescaped (receivers differ in which one they take, RFC 8259 section 4), invalid UTF-8,
// an escaped surrogate without its other half, and nesting deeper than 1,000 arrays and objects.
//
// Neither the texts nor the refusals may change: stored fingerprints are digests of them. A change is a new function, used by a
// new version of idem.Fingerprint.
//
// The time is linear in len(doc), but for the sorting of names; the memory is at most 32 times len(doc), twice for ordinary
// documents. doc is neither changed nor kept.
func JSON(doc []byte) ([]byte, bool) {
	if !utf8.Valid(doc) {
		return nil, false
	}
	s := scanner{doc: doc, out: make([]byte, 0, len(doc))}
	if !s.value(0) || s.peek() != end {
		return nil, false
	}
	return s.ordered(), true
}
