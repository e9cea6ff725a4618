package webhook

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

func TestHolderRefusesAJobThatItCannotDo(t *testing.T) {
	for want, text := range map[string]string{
		"read the job":         "no JSON",
		"there is no receiver": `{"Receiver": 99}`,
		"cannot parse":         `{"Receiver": 0, "Database": "postgres://%"}`,
	} {
		if err := Holder(t.Context(), strings.NewReader(text), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// shell is a bench whose holder is a script.
func shell(script string) *workbench.Bench {
	return &workbench.Bench{Self: func(ctx context.Context, _ ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "/bin/sh", "-c", script)
	}}
}

func TestHolderThatEndsByItselfIsAnError(t *testing.T) {
	_, err := startHolder(t.Context(), shell("echo no database >&2; exit 1"), job{})
	if err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("error %v, want what it said", err)
	}
	h, err := startHolder(t.Context(), shell(`echo '{"URL": "http://127.0.0.1:1"}'; echo overslept >&2; exit 3`), job{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.await(1); err == nil || !strings.Contains(err.Error(), "overslept") {
		t.Errorf("error %v, want what it said", err)
	}
	if err := h.kill(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v, want how it ended", err)
	}
}

func TestHolderDiesOfAKillAndNotOfItself(t *testing.T) {
	script := `echo '{"URL": "http://127.0.0.1:1"}'; echo '{"InHand": "evt_1"}'; exec sleep 60`
	h, err := startHolder(t.Context(), shell(script), job{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.await(1); err != nil || h.url != "http://127.0.0.1:1" {
		t.Errorf("url %q, error %v", h.url, err)
	}
	if err := h.kill(); err != nil {
		t.Error(err)
	}
}
