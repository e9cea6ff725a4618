package idemhttp

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What Transport adds to a request that is answered at once. The bodies are read by a Base that does nothing else.
func BenchmarkTransport(b *testing.B) {
	base := transportFunc(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return &http.Response{StatusCode: 201, Body: http.NoBody, Request: r}, nil
	})
	for _, c := range []struct {
		name    string
		over    http.RoundTripper
		getBody bool
	}{{"bare", base, true}, {"getbody", &Transport{Base: base}, true}, {"memory", &Transport{Base: base}, false}} {
		b.Run(c.name, func(b *testing.B) {
			body := strings.Repeat("x", 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				r := transportRequest(b.Context(), body)
				if !c.getBody {
					r.GetBody = nil
				}
				if resp, err := c.over.RoundTrip(r); err != nil || resp.StatusCode != 201 {
					b.Fatal(err)
				}
			}
		})
	}
}
