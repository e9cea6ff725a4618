package idemhttp

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"
)

// Whatever the pieces, chunks holds them in order.
func TestChunksHoldWhatWasWritten(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 2048, 32<<10 - 1, 32 << 10, 32<<10 + 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		for _, piece := range []int{1, 100, 512, 4096, 1 << 20, 4 << 20} {
			if size/piece > 20_000 {
				continue
			}
			for _, expected := range []int{0, size, size / 2} {
				t.Run(fmt.Sprintf("%d bytes by %d, %d expected", size, piece, expected), func(t *testing.T) {
					want := noise(size)
					var c chunks
					defer func() { c.free() }()
					c.expect(expected)
					for i, rest := 0, want; len(rest) > 0; i++ {
						n := min(piece, len(rest))
						if i%2 == 0 {
							c.append(rest[:n])
						} else {
							c.appendString(string(rest[:n]))
						}
						rest = rest[n:]
					}
					if got := bytes.Join(c.list, nil); !bytes.Equal(got, want) {
						t.Fatalf("%d bytes are not those that were written", len(got))
					}
					for range 2 { // joined once, and the same ever after
						if got := c.bytes(); !bytes.Equal(got, want) || len(c.list) > 1 {
							t.Fatalf("%d bytes in %d pieces are not those that were written", len(got), len(c.list))
						}
					}
				})
			}
		}
	}
}

// What was appended is a copy, and goes on being one beside others and after them.
func TestChunksShareNothing(t *testing.T) {
	given := []byte("given")
	var first, second chunks
	first.append(given)
	copy(given, "taken")
	if got := string(first.bytes()); got != "given" {
		t.Errorf("%q", got)
	}
	for range 100 { // chunks that are lent come back and go out again
		a, b := noise(100_000), noise(300_000)
		first.free()
		second.free()
		first.append(a)
		second.append(b[:150_000])
		second.append(b[150_000:])
		if !bytes.Equal(first.bytes(), a) || !bytes.Equal(second.bytes(), b) {
			t.Fatal("two answers share memory")
		}
	}
	first.free()
	if len(first.list) != 0 || len(first.bytes()) != 0 {
		t.Error("something is left")
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
