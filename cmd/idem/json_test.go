package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// jsonLines reads one JSON object a line, and nothing else.
func jsonLines(t *testing.T, text string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("%q is no JSON object and an end of line: %v", line, err)
		}
		lines = append(lines, object)
	}
	return lines
}

// wantNames checks that an object has these names and no others.
func wantNames(t *testing.T, object any, names string) {
	t.Helper()
	members, ok := object.(map[string]any)
	got, want := slices.Sorted(maps.Keys(members)), strings.Fields(names)
	slices.Sort(want)
	if !ok || !slices.Equal(got, want) {
		t.Errorf("the names are %s, want %s", got, want)
	}
}
