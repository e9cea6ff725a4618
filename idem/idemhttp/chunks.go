package idemhttp

import (
	"bytes"
	"math/bits"
	"sync"
)

// chunks holds bytes as they came. Growing never copies; joining does, once. Large chunks are lent by pools and used for other
// answers after free, so that an answer of 1 MiB leaves no garbage of its own.
type chunks struct {
	list [][]byte
	next int // size of the next chunk; 0: as small as it gets
	lent []*[]byte
}

// pools have chunks of 32 KiB, 64 KiB and so on up to 1 MiB, the most that is kept by default. Smaller ones are sooner made than
// found, larger ones too rare to be held on to.
var pools [6]sync.Pool

const smallestLent = 32 << 10

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
	chunk := c.make(max(c.next, want, smallest))
	c.next = min(2*cap(chunk), largest)
	c.list = append(c.list, chunk)
	return chunk[:cap(chunk)]
}

// make returns an empty chunk for at least size bytes.
func (c *chunks) make(size int) []byte {
	class := bits.Len(uint(max(size, 1)-1) / smallestLent)
	if size < smallestLent || class >= len(pools) {
		return make([]byte, 0, size)
	}
	chunk, ok := pools[class].Get().(*[]byte)
	if !ok {
		chunk = new(make([]byte, 0, smallestLent<<class))
	}
	c.lent = append(c.lent, chunk)
	return *chunk
}

// grow counts n bytes of room as written.
func (c *chunks) grow(n int) {
	last := len(c.list) - 1
	c.list[last] = c.list[last][:len(c.list[last])+n]
}

// head is how it begins: at least 512 bytes, or all of it.
func (c *chunks) head() []byte {
	if len(c.list) == 0 {
		return nil
	}
	return c.list[0]
}

// bytes is all of it in one piece, until free.
func (c *chunks) bytes() []byte {
	if len(c.list) > 1 {
		size := 0
		for _, chunk := range c.list {
			size += len(chunk)
		}
		whole := bytes.NewBuffer(c.make(size))
		for _, chunk := range c.list {
			whole.Write(chunk)
		}
		c.list = [][]byte{whole.Bytes()}
	}
	if len(c.list) == 0 {
		return nil
	}
	return c.list[0]
}

// free gives back what was lent. Nobody may hold any of it then, and nothing is left.
func (c *chunks) free() {
	for _, chunk := range c.lent {
		pools[bits.Len(uint(cap(*chunk)-1)/smallestLent)].Put(chunk)
	}
	*c = chunks{}
}
