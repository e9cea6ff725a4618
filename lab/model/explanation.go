package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Explain says in words where the longest sequence that the model allows ends, for the first key whose history is illegal: its last
// operations, the state after them, and the operations of which none can come next.
func Explain(found porcupine.LinearizationInfo, history []porcupine.Operation) string {
	parts := byKey(history)
	for i, sequences := range found.PartialLinearizationsOperations() {
		var longest []porcupine.Operation
		for _, s := range sequences {
			if len(s) > len(longest) {
				longest = s
			}
		}
		if len(longest) < len(parts[i]) {
			return explain(longest, parts[i])
		}
	}
	return ""
}

func explain(longest, all []porcupine.Operation) string {
	const last = 12
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d of %d operations fit", all[0].Input.(Operation).Key, len(longest), len(all))
	var state key
	for i, op := range longest {
		state, _ = state.step(op.Input.(Operation), op.Output.(Result))
		if i >= len(longest)-last {
			fmt.Fprintf(&text, "\n  %s\n      then: %s", line(op), state)
		}
	}
	left := slices.DeleteFunc(slices.Clone(all), func(op porcupine.Operation) bool {
		return slices.ContainsFunc(longest, func(other porcupine.Operation) bool { return other.Input == op.Input })
	})
	first := left[0].Return
	for _, op := range left {
		first = min(first, op.Return)
	}
	for _, op := range left {
		if op.Call <= first {
			fmt.Fprintf(&text, "\n  cannot be next: %s", line(op))
		}
	}
	return text.String()
}

func line(op porcupine.Operation) string {
	return fmt.Sprintf("%8v to %8v client %2d: %v → %v", time.Duration(op.Call).Round(time.Microsecond),
		time.Duration(op.Return).Round(time.Microsecond), op.ClientId, op.Input, op.Output)
}
