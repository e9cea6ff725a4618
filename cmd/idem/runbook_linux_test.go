package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runbook are the commands of the page for operators, from what each state means to the alerts.
func runbook(t *testing.T) (commands []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## What each state means\n")
	text, _, _ = strings.Cut(text, "\n## Alerts\n")
	for _, block := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}

// An operator who goes by the page, at a terminal, gets what the page says.
func TestCommandsOfTheRunbookDoWhatItSays(t *testing.T) {
	t.Parallel()
	db, dir := migrated(t), t.TempDir()
	db.insert(t, abandoned("k-1"), abandoned("k-2"), abandoned("k-3"), abandoned("k-4"), inFlight("k-5"))
	db.step(t, "k-1", 1, "charge", "")
	script := `#!/bin/sh
		case "$(cat)" in *'"key":"k-4"'*'"charge":"'*) echo '{"verdict":"found","status":201}';; *) echo '{"verdict":"pending"}';; esac`
	if err := os.WriteFile(filepath.Join(dir, "ask-the-processor"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, command := range runbook(t) {
		name, _, _ := strings.Cut(strings.TrimPrefix(command, "idem "), " ")
		ran[name] = true
		env := []string{"DATABASE_URL=" + db.url, "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
		p, typed := startProgramAtTerminal(t, env, dir, "sh", "-c", command)
		asks, code := strings.Contains("settle release forget", name), 0
		if asks {
			p.until(t, "it asks", func() bool { return strings.Contains(p.err.String(), "[y/N] ") })
			typed("y\n")
		}
		if name == "reconcile" {
			code = 1 // some keys are still pending, and wait for what follows
		}
		c := p.wait(t).want(t, code)
		switch name {
		case "list":
			c.want(t, 0, "k-1", "k-4")
		case "show":
			c.want(t, 0, "charge: begun ", "outcome unknown")
		case "stats":
			c.want(t, 0, "abandoned  4 ")
		case "reconcile":
			c.want(t, 1, "found: acme POST /charges k-4", "pending: acme POST /charges k-1", "3 keys not decided")
		}
	}
	if got, want := fmt.Sprint(ran), "map[forget:true list:true reconcile:true release:true settle:true show:true stats:true]"; got != want {
		t.Errorf("the page has the commands %s, want %s", got, want)
	}
	if got, want := db.states(t), "k-1 committed, k-2 released, k-4 committed, k-5 held"; got != want {
		t.Errorf("the keys are %s, want %s", got, want)
	}
	for i, want := range []string{"settle acme POST /charges k-4", "settle acme POST /charges k-1", "release acme POST /charges k-2", "forget acme POST /charges k-3"} {
		if lines := strings.Split(db.audit(t), "\n"); len(lines) != 4 || !strings.Contains(lines[i], want) {
			t.Errorf("row %d of the audit lacks %q:\n%s", i, want, db.audit(t))
		}
	}
}

// Whatever command the page names is one.
func TestCommandsThatThePageNamesExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("`idem ((?:migrate )?[a-z]+)([^`]*)`").FindAllStringSubmatch(string(page), -1)
	if len(found) < 10 {
		t.Errorf("the page names %d commands only", len(found))
	}
	for _, command := range found {
		c := cli(t, "", append(strings.Fields(command[1]), "--help")...).want(t, 0)
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(command[2], -1) {
			if !strings.Contains(c.out, flag+" ") {
				t.Errorf("the page says %s, and there is no %s", command[0], flag)
			}
		}
	}
}
