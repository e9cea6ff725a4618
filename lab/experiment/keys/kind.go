package keys

import "github.com/google/uuid"

// kind is a way to make keys.
type kind struct {
	name string
	next func() (uuid.UUID, error)
}

// Those that are compared, in the order of a table.Kinds.
var kinds = []kind{
	{"UUIDv4", uuid.NewRandom},
	{"UUIDv7", uuid.NewV7}, // of one process each is greater than the last, also within a millisecond
}

// some are n new keys.
func (k kind) some(n int) ([]string, error) {
	made := make([]string, n)
	for i := range made {
		key, err := k.next()
		if err != nil {
			return nil, err
		}
		made[i] = key.String()
	}
	return made, nil
}
