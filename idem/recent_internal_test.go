package idem

import (
	"fmt"
	"testing"
)

func TestRecentIsBounded(t *testing.T) {
	r := recent{bytes: 1000}
	name := func(i int) roomKey { return roomKey{id: fmt.Sprint(i)} }
	for i := range 10 * recentKeys {
		r.saw(name(i), new(cached))
		if n := len(r.young) + len(r.old); n > 2*recentKeys {
			t.Fatalf("%d keys, want at most %d", n, 2*recentKeys)
		}
	}
	if r.find(name(10*recentKeys-1)) == nil || r.find(name(0)) != nil {
		t.Error("it forgot the last key, or kept the first")
	}
	r = recent{bytes: 1000}
	for i := range 1000 {
		r.saw(name(i%50), &cached{answer: &Response{Body: make([]byte, 30)}})
		r.saw(name(-1), &cached{answer: &Response{Body: make([]byte, 501)}}) // as large as a generation
		total := 0
		for _, generation := range []map[roomKey]*cached{r.young, r.old} {
			for _, c := range generation {
				if c.answer != nil {
					total += len(c.answer.Body)
				}
			}
		}
		if total > r.bytes {
			t.Fatalf("%d bytes of answers, want at most %d", total, r.bytes)
		}
		if i%7 == 0 {
			r.forget(name(i % 50))
		}
	}
	if r.find(name(-1)) == nil {
		t.Error("a key whose answer is too large is not remembered at all")
	}
}
