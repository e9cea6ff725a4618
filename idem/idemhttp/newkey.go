package idemhttp

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// NewKey makes a key for one intention: a UUIDv7 (RFC 9562), which begins with the millisecond in which it was made, so that
// Transport can tell how old it is. Call it once, store it with the intention, and send it with every attempt.
func NewKey() string { return newKeyAt(time.Now()) }

func newKeyAt(birth time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(birth.UnixMilli())<<16)
	rand.Read(b[6:]) // never fails
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// keyBirth is when a UUIDv7 was made, by its maker's clock; false for a key of another form. A quoted key is the same key.
func keyBirth(key string) (time.Time, bool) {
	if bare, err := ParseKey([]string{key}); err == nil {
		key = bare
	}
	if len(key) != 36 || key[8] != '-' || key[13] != '-' || key[18] != '-' || key[23] != '-' {
		return time.Time{}, false
	}
	b, err := hex.DecodeString(strings.ReplaceAll(key, "-", ""))
	if err != nil || len(b) != 16 || b[6]>>4 != 7 || b[8]>>6 != 2 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b) >> 16)), true
}
