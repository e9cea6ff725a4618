package processor

// Asked is what a processor says when it is asked what happened under a key or an id.
type Asked int

const (
	AskedPending Asked = iota // "pending": 200 for what has landed, 202 for what has arrived and not landed, else 404
	AskedLanded               // "landed": it cannot report pending, and answers 404 until a charge lands
	AskedNothing              // "nothing": 404 for everything
	AskedRefuse               // "refuse": 501 for everything
)

var askeds = words{"pending", "landed", "nothing", "refuse"}

// MarshalText implements encoding.TextMarshaler.
func (a Asked) MarshalText() ([]byte, error) { return askeds.text(int(a)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Asked) UnmarshalText(text []byte) error {
	value, err := askeds.value(text)
	*a = Asked(value)
	return err
}
