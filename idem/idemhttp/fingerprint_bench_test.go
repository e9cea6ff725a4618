package idemhttp

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
)

func BenchmarkRequestFingerprint(b *testing.B) {
	for _, media := range []struct{ name, contentType string }{
		{"json", "application/json"},
		{"raw", "application/octet-stream"},
	} {
		for _, size := range benchSizes[:2] {
			b.Run(media.name+"/"+size.name, func(b *testing.B) {
				body := orderOf(size.bytes)
				r, err := http.NewRequest(http.MethodPost, "/charges?expand=items", nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Content-Type", media.contentType)
				byMedian(b, 1, func() {
					if _, err := RequestFingerprint(r, body, 0); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

var benchSizes = []struct {
	name  string
	bytes int
}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}}

// orderOf is an order in JSON of exactly that many bytes, at least 200.
func orderOf(size int) []byte {
	var doc bytes.Buffer
	doc.WriteString(`{"currency":"usd","amount":4900,"customer":{"name":"Zo\u00eb","email":"zoe@example.com"},"items":[`)
	for n := 0; doc.Len() < size-100; n++ {
		if n > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"sku":"A-%06d","quantity":%d,"price":12.50}`, n, n%9+1)
	}
	doc.WriteString(`],"note":"`)
	end := `"}`
	doc.Write(bytes.Repeat([]byte("x"), size-doc.Len()-len(end)))
	doc.WriteString(end)
	return doc.Bytes()
}
