package processor

// Conflict is what becomes of a call whose key's first call is still running.
type Conflict int

const (
	ConflictWait  Conflict = iota // "wait": it waits for the first one's end, and is then a repeat
	ConflictError                 // "error": 409 in_progress
)

var conflicts = words{"wait", "error"}

// MarshalText implements encoding.TextMarshaler.
func (c Conflict) MarshalText() ([]byte, error) { return conflicts.text(int(c)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Conflict) UnmarshalText(text []byte) error {
	value, err := conflicts.value(text)
	*c = Conflict(value)
	return err
}
