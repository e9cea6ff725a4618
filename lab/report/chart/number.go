package chart

import (
	"math"
	"strconv"
	"strings"
)

// number writes a value: whole from 100 on, and with three digits that count below.
func number(v float64) string {
	if v >= 100 || v == math.Trunc(v) {
		return grouped(v)
	}
	return trimmed(v)
}

// grouped writes 1234.4 as 1,234.
func grouped(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// trimmed writes 0.12345 as 0.123 and 2.50 as 2.5.
func trimmed(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if strings.ContainsAny(s, "e") || !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
