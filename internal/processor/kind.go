package processor

import (
	"strconv"
	"strings"
)

// kind is what a call asks for. Keys of one kind have nothing to do with those of the other.
type kind string

const (
	charge kind = "charge"
	refund kind = "refund"
)

var prefixes = map[kind]string{charge: "ch_", refund: "re_"}

// id is how the outside calls a row: ch_1, re_2.
func (k kind) id(row int64) string { return prefixes[k] + strconv.FormatInt(row, 10) }

// row is the other way about; false for what id never returns.
func (k kind) row(id string) (int64, bool) {
	row, err := strconv.ParseInt(strings.TrimPrefix(id, prefixes[k]), 10, 64)
	return row, err == nil && row > 0 && k.id(row) == id
}
