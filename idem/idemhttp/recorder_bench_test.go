package idemhttp

import "testing"

// BenchmarkRecorder weighs holding an answer back alone: the handler's writes of up to 32 KiB (what io.Copy writes), the record
// that is made of them, and the sending.
func BenchmarkRecorder(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			answer := written{body: orderOf(size.bytes), piece: 32 << 10}
			m := &Middleware{}
			w := newCaller().w
			byMedian(b, 1, func() {
				clear(w.header)
				r := newRecorder(m, &w, 1<<20)
				answer.to(r)
				r.finish()
				if len(r.answer().Body) != size.bytes {
					b.Fatal("not all of it was recorded")
				}
				r.send()
			})
		})
	}
}
