package idemhttp

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What docs/client.md shows is what compiles, and it leaves no problem out.
func TestTransportPageShowsWhatCompiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("transport_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	outdent := regexp.MustCompile(`(?m)^\t*`)
	programs := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	for _, program := range programs {
		if !strings.Contains(outdent.ReplaceAllString(string(example), ""), outdent.ReplaceAllString(program[1], "")) {
			t.Errorf("this part of docs/client.md does not stand in transport_example_test.go:\n%s", program[1])
		}
	}
	if len(programs) == 0 {
		t.Error("no program in docs/client.md")
	}
	problems, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`problem\(http\.Status\w+, "([a-z-]+)"`).FindAllStringSubmatch(string(problems), -1)
	for _, name := range names {
		if !strings.Contains(string(page), "[`"+name[1]+"`](protocol.md#"+name[1]+")") {
			t.Errorf("docs/client.md does not say what to do about %s", name[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("problem.go names %d problems", len(names))
	}
}
