package idemhttp

import "bytes"

// chunks holds bytes as they came. Growing never copies: a 1 MiB answer in small writes costs 1 MiB, and once more to join.
type chunks struct {
	list [][]byte
	next int // size of the next chunk; 0: as small as it gets
}

// expect makes room for n bytes in one piece.
func (c *chunks) expect(n int) { c.next = n }

func (c *chunks) append(b []byte) {
	for len(b) > 0 {
		n := copy(c.room(len(b)), b)
		c.grow(n)
		b = b[n:]
	}
}

func (c *chunks) appendString(s string) {
	for len(s) > 0 {
		n := copy(c.room(len(s)), s)
		c.grow(n)
		s = s[n:]
	}
}

// room is the free end of the last chunk, never empty. want is how much is to be written.
func (c *chunks) room(want int) []byte {
	const smallest, largest = 512, 256 << 10
	if last := len(c.list) - 1; last >= 0 && len(c.list[last]) < cap(c.list[last]) {
		return c.list[last][len(c.list[last]):cap(c.list[last])]
	}
	size := max(c.next, want, smallest)
	c.next = min(2*size, largest)
	c.list = append(c.list, make([]byte, 0, size))
	return c.list[len(c.list)-1][:size]
}

// grow counts n bytes of room as written.
func (c *chunks) grow(n int) {
	last := len(c.list) - 1
	c.list[last] = c.list[last][:len(c.list[last])+n]
}

// bytes is all of it in one piece.
func (c *chunks) bytes() []byte {
	if len(c.list) > 1 {
		c.list = [][]byte{bytes.Join(c.list, nil)}
	}
	if len(c.list) == 0 {
		return nil
	}
	return c.list[0]
}
