package idem

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// A header is stored as a header block on the wire: "Name: value" lines ended by CR LF, names in byte order, values of one
// name in their own order. What cannot stand in such a block is treated as net/http treats it: CR, LF and NUL in a value
// become spaces, blanks around it go, and a line whose name is no token is left out. Other bytes, Latin-1 too, are kept.

var headerValue = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// encodeHeader never returns nil: a finished key has a header, if an empty one.
func encodeHeader(header map[string][]string) []byte {
	block := []byte{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !isToken(name) {
			continue
		}
		for _, value := range header[name] {
			block = append(block, name...)
			block = append(block, ": "...)
			block = append(block, strings.Trim(headerValue.Replace(value), " \t")...)
			block = append(block, "\r\n"...)
		}
	}
	return block
}

// decodeHeader returns nil for an empty block.
func decodeHeader(block []byte) map[string][]string {
	var header map[string][]string
	for line := range bytes.SplitSeq(block, []byte("\r\n")) {
		name, value, ok := strings.Cut(string(line), ": ")
		if !ok {
			continue
		}
		if header == nil {
			header = make(map[string][]string)
		}
		header[name] = append(header[name], value)
	}
	return header
}

// isToken reports whether name is an RFC 9110 token, the only form of a field name.
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}
