package idemhttp_test

import "testing"

func TestSmoke(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			srv := b.serve(mode.handle(b, b.m, created))
			first := b.post(srv, mode.name, `{"a":1}`)
			b.wantFirst(first, 201)
			b.wantReplay(b.post(srv, mode.name, `{"a":1 }`), first)
			b.wantProblem(b.post(srv, mode.name, `{"a":2}`), 422, "key-reused")
			b.wantProblem(b.post(srv, "", `{"a":2}`), 400, "missing-key")
			b.wantProblem(b.post(srv, "a,b", `{"a":2}`), 400, "malformed-key")
			t.Log(b.log.String())
		})
	}
	if b.charges() != 2 {
		t.Error(b.charges())
	}
}
