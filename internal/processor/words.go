package processor

import (
	"fmt"
	"slices"
	"strings"
)

// words are the names of an enumeration's values, in their order, in JSON and in flags.
type words []string

func (w words) text(value int) ([]byte, error) {
	if value < 0 || value >= len(w) {
		return nil, fmt.Errorf("%d is none of %s", value, strings.Join(w, ", "))
	}
	return []byte(w[value]), nil
}

func (w words) value(text []byte) (int, error) {
	if i := slices.Index(w, string(text)); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%q is none of %s", text, strings.Join(w, ", "))
}
