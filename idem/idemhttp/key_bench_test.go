package idemhttp

import "testing"

func BenchmarkParseKey(b *testing.B) {
	for _, form := range []struct{ name, line string }{
		{"bare", "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"},
		{"quoted", `"5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"`},
	} {
		b.Run(form.name, func(b *testing.B) {
			lines := []string{form.line}
			byMedian(b, 100, func() {
				if _, err := ParseKey(lines); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
