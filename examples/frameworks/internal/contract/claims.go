package contract

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

func replay(b *bundle) {
	first := b.send(b.request())
	b.wantFirst(first, http.StatusCreated)
	if first.header.Get("Location") == "" || !strings.HasPrefix(first.header.Get("Content-Type"), "application/json") {
		b.Errorf("the first answer's header is %v", first.header)
	}
	if cookies := first.header.Values("Set-Cookie"); len(cookies) != 1 || !strings.HasPrefix(cookies[0], "last="+b.order) {
		b.Errorf("the first answer sets the cookies %q", cookies)
	}
	if b.name == "atomic" && !strings.Contains(first.body, `{"id":900719925474`) { // above 2^53, digit by digit
		b.Errorf("the first answer is %s", first.body)
	}
	for range 2 {
		again := b.send(b.request())
		b.wantReplay(again, first)
		if cookies := again.header.Values("Set-Cookie"); len(cookies) != 0 {
			b.Errorf("a replay sets the cookies %q", cookies)
		}
	}
	b.wantEffects(1)
}

func otherBody(b *bundle) {
	first := b.send(b.request())
	b.wantFirst(first, http.StatusCreated)
	b.wantProblem(b.send(b.requestFor(b.order, document(490_000))), http.StatusUnprocessableEntity, "key-reused")
	b.wantReplay(b.send(b.requestFor(b.order, `{ "cents": 4900, "note": "a\u0020book" }`)), first) // the same document
	b.wantEffects(1)
}

func badKeys(b *bundle) {
	r := b.request()
	r.Header.Del(idemhttp.HeaderKey)
	b.wantProblem(b.send(r), http.StatusBadRequest, "missing-key")
	for _, key := range []string{"", "a b", `"a`, "a,b", strings.Repeat("k", 256)} {
		r := b.request()
		r.Header.Set(idemhttp.HeaderKey, key)
		b.wantProblem(b.send(r), http.StatusBadRequest, "malformed-key")
	}
	b.wantEffects(0)
}

func running(b *bundle) {
	begun, end := make(chan struct{}), make(chan struct{})
	b.after = func() error {
		close(begun)
		<-end
		return nil
	}
	type result struct {
		answer
		error
	}
	ended := make(chan result, 1)
	go func() {
		a, err := send(b.request())
		ended <- result{a, err}
	}()
	select {
	case <-begun:
	case first := <-ended:
		b.Fatalf("the handler has not run: %d %s (%v)", first.status, first.body, first.error)
	}
	again := b.send(b.request())
	close(end)
	b.wantProblem(again, http.StatusConflict, "in-flight")
	if again.header.Get("Retry-After") == "" {
		b.Error("409 without Retry-After")
	}
	first := <-ended
	if first.error != nil {
		b.Fatal(first.error)
	}
	b.wantFirst(first.answer, http.StatusCreated)
	b.wantReplay(b.send(b.request()), first.answer)
	b.wantEffects(1)
}

func pathParameters(b *bundle) {
	first := b.send(b.request())
	b.wantFirst(first, http.StatusCreated)
	if !strings.Contains(first.body, `"order":"`+b.order+`"`) {
		b.Errorf("the handler has read another order than %s: %s", b.order, first.body)
	}
	b.wantProblem(b.send(b.requestFor(b.other, document(4900))), http.StatusUnprocessableEntity, "key-reused")
	b.wantEffects(1)
}

func tenants(b *bundle) {
	acme := b.send(b.request())
	b.wantFirst(acme, http.StatusCreated)
	r := b.requestFor(b.order, document(490_000)) // nor does it learn that acme has used the key
	r.Header.Set("Authorization", "Bearer globex-secret")
	b.wantFirst(b.send(r), http.StatusCreated)
	b.wantReplay(b.send(b.request()), acme)
	b.wantEffects(2)
}

func authentication(b *bundle) {
	b.wantFirst(b.send(b.request()), http.StatusCreated)
	for _, token := range []string{"", "Bearer revoked", "acme-secret"} {
		r := b.request()
		r.Header.Set("Authorization", token)
		if a := b.send(r); a.status != http.StatusUnauthorized || a.header.Get(idemhttp.HeaderReplayed) != "" || strings.Contains(a.body, b.order) {
			b.Errorf("with %q: %d %v %s, want 401 and nothing of the answer", token, a.status, a.header, a.body)
		}
	}
	b.wantEffects(1)
}

// broken is what becomes of the key after a failure: atomic mode has rolled back, and the next request runs; in lease mode
// nobody knows, and nobody guesses.
func broken(b *bundle) {
	b.Helper()
	b.after = nil
	again := b.send(b.request())
	if b.name == "atomic" {
		b.wantFirst(again, http.StatusCreated)
	} else {
		b.wantProblem(again, http.StatusConflict, "outcome-unknown")
	}
	b.wantEffects(1)
}

func panics(b *bundle) {
	b.after = func() error { panic("the handler breaks") }
	a := b.send(b.request())
	b.wantFirst(a, http.StatusInternalServerError)
	if strings.Contains(a.body, "breaks") || strings.Contains(a.body, idemhttp.ProblemBase) {
		b.Errorf("the framework's recovery did not answer: %s", a.body)
	}
	broken(b)
}

func fails(b *bundle) {
	b.after = func() error { return errors.New("the disk is full") }
	a := b.send(b.request())
	b.wantFirst(a, http.StatusInternalServerError)
	if strings.Contains(a.body, "disk") {
		b.Errorf("the client is told of the server's disk: %s", a.body)
	}
	broken(b)
}

func refuses(b *bundle) {
	b.after = func() error { return shop.ErrRefused }
	first := b.send(b.request())
	b.wantFirst(first, http.StatusPaymentRequired)
	if !strings.Contains(first.body, "refused") {
		b.Errorf("the refusal says %s", first.body)
	}
	b.after = nil
	b.wantReplay(b.send(b.request()), first)
	if got := b.stored().status; got != "failed" {
		b.Errorf("the key is %q, want failed", got)
	}
	if b.name == "atomic" {
		b.wantEffects(0) // the rows of a refusal are rolled back
	} else {
		b.wantEffects(1)
	}
}

// body is sent with a length and in chunks. 2^53+1 does not fit into a float64.
func body(b *bundle) {
	const text = "{\n \"note\": \"\\u00e9\\u2028 <&>\",\t\"cents\": 9007199254740993 }\n"
	b.wantFirst(b.send(b.requestFor(b.order, text)), http.StatusCreated)
	chunked := b.requestFor(b.other, text)
	chunked.Header.Set(idemhttp.HeaderKey, b.key+"-2")
	chunked.ContentLength, chunked.Body = -1, io.NopCloser(strings.NewReader(text))
	b.wantFirst(b.send(chunked), http.StatusCreated)
	want := "9007199254740993"
	if b.name == "atomic" {
		want = "{é\u2028 <&> " + want + "}"
	}
	if len(b.seen) != 2 || b.seen[0] != want || b.seen[1] != want {
		b.Errorf("the handlers have read %q, want %q twice", b.seen, want)
	}
}

func endpoint(b *bundle) {
	b.wantFirst(b.send(b.request()), http.StatusCreated)
	if got, want := b.stored(), (stored{endpoint: "POST " + b.pattern, status: "committed"}); got != want {
		b.Errorf("the key's row is %+v, want %+v", got, want)
	}
}

func safe(b *bundle) {
	count := func(want string) {
		b.Helper()
		r := b.request()
		r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
		a := b.send(r)
		b.wantFirst(a, http.StatusOK)
		if got := strings.TrimSpace(a.body); got != want {
			b.Errorf("GET answers %s, want %s", got, want)
		}
	}
	count(`{"items":0}`)
	if got := b.stored(); got != (stored{}) {
		b.Errorf("GET has stored %+v", got)
	}
	b.wantFirst(b.send(b.request()), http.StatusCreated)
	count(`{"items":1}`)
}
