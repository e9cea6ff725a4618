package processor

// Repeat is what becomes of a call whose key has been used.
type Repeat int

const (
	RepeatReplay Repeat = iota // "replay": the first answer again, with 200 and Idempotent-Replayed: true
	RepeatError                // "error": 409 duplicate_key with the first one's id, as a unique constraint has it
	RepeatCharge               // "charge": it charges again, as a processor that knows no keys
)

var repeats = words{"replay", "error", "charge"}

// MarshalText implements encoding.TextMarshaler.
func (r Repeat) MarshalText() ([]byte, error) { return repeats.text(int(r)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Repeat) UnmarshalText(text []byte) error {
	value, err := repeats.value(text)
	*r = Repeat(value)
	return err
}
