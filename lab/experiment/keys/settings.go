package keys

import "fmt"

// A key of article 003's table takes 52 bytes of a leaf page: 8 of header, 1 of length, 36 of text, 3 of padding, and 4 of the
// page's directory. Pages that are full of them are the least that an index takes.
const (
	bytesPerEntry = 52
	timesLarger   = 4 // than shared_buffers, what an index must be
)

// sharedBuffers is a fifth of the least that an index takes, and so leaves it more than timesLarger.
func (k *Keys) sharedBuffers() int64 {
	const page = 8192
	return int64(k.Rows) * bytesPerEntry / (timesLarger + 1) / page * page
}

// settings are those of both servers. Checkpoints come when they are asked for, so that both tables have them after equally many
// rows; otherwise they would come the more often, and log the more full pages, the more is written.
func (k *Keys) settings() map[string]string {
	return map[string]string{
		"shared_buffers":     fmt.Sprintf("%dkB", k.sharedBuffers()/1024),
		"checkpoint_timeout": "1d",
		"max_wal_size":       "64GB",
		"autovacuum":         "off",
	}
}
