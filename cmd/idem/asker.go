package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// asker is the operator's command that asks the downstream about a key.
type asker struct {
	command string
	timeout time.Duration
	steps   []string // names whose downstream keys it is told
	stderr  io.Writer
}

// question is what the command reads; its names are stable.
type question struct {
	Tenant         string            `json:"tenant"`
	Endpoint       string            `json:"endpoint"`
	Key            string            `json:"key"`
	Attempts       int               `json:"attempts"`
	CreatedAt      time.Time         `json:"created_at"`
	ClaimedAt      time.Time         `json:"claimed_at"`
	Handler        string            `json:"handler"`
	Request        []byte            `json:"request_base64"`
	DownstreamKeys map[string]string `json:"downstream_keys"`
	Steps          []stepShown       `json:"steps"`
}

// stepShown is a step in JSON; its names are stable.
type stepShown struct {
	Name       string     `json:"name"`
	BegunAt    time.Time  `json:"begun_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Output     []byte     `json:"output_base64"`
}

func stepsShown(r *idem.Record) []stepShown {
	shown := []stepShown{}
	for _, s := range r.Steps {
		shown = append(shown, stepShown{s.Name, s.BegunAt.UTC(), inUTC(s.FinishedAt), s.Output})
	}
	return shown
}

// reply is what the command writes.
type reply struct {
	Verdict     string              `json:"verdict"`
	Status      int                 `json:"status"`
	Header      map[string][]string `json:"header"`
	Body        *string             `json:"body"`
	BodyBase64  []byte              `json:"body_base64"`
	Failed      bool                `json:"failed"`
	ProviderRef string              `json:"provider_ref"`
}

// ask runs the command for one key. Whatever is not a verdict is an error, and so pending.
func (a *asker) ask(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("the command took longer than %s", a.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", a.command)
	cmd.WaitDelay = time.Second // for what the shell has left running
	input, err := json.Marshal(a.question(r))
	if err != nil {
		return idem.Pending, nil, err
	}
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), &output, a.stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return idem.Pending, nil, fmt.Errorf("the command: %w", err)
	}
	return readReply(output.Bytes())
}

func (a *asker) question(r *idem.Record) question {
	q := question{
		Tenant: r.Key.Tenant, Endpoint: r.Key.Endpoint, Key: r.Key.ID, Attempts: r.Attempts,
		CreatedAt: r.CreatedAt.UTC(), ClaimedAt: r.ClaimedAt.UTC(), Handler: r.Handler,
		DownstreamKeys: map[string]string{}, Steps: stepsShown(r),
	}
	if r.Key.Request != "" {
		q.Request = []byte(r.Key.Request)
	}
	for _, name := range a.steps {
		q.DownstreamKeys[name] = r.DownstreamKey(name)
	}
	for _, s := range r.Steps {
		q.DownstreamKeys[s.Name] = r.DownstreamKey(s.Name)
	}
	return q
}

func readReply(output []byte) (idem.Verdict, *idem.Response, error) {
	d := json.NewDecoder(bytes.NewReader(output))
	d.DisallowUnknownFields()
	var r reply
	if err := d.Decode(&r); err != nil {
		return idem.Pending, nil, fmt.Errorf("the command's output is no verdict: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return idem.Pending, nil, errors.New("the command's output is more than one verdict")
	}
	switch r.Verdict {
	case "pending":
		return idem.Pending, nil, nil
	case "nothing":
		return idem.Nothing, nil, nil
	case "found":
	default:
		return idem.Pending, nil, fmt.Errorf("the command's verdict is %q, and not found, nothing or pending", r.Verdict)
	}
	switch {
	case r.Status < 100 || r.Status > 999:
		return idem.Pending, nil, fmt.Errorf("the command found an answer of status %d; it must be 100 to 999", r.Status)
	case r.Body != nil && r.BodyBase64 != nil:
		return idem.Pending, nil, errors.New("the command gave both body and body_base64")
	}
	answer := &idem.Response{Status: r.Status, Header: r.Header, Body: r.BodyBase64, Failed: r.Failed, ProviderRef: r.ProviderRef}
	if r.Body != nil {
		answer.Body = []byte(*r.Body)
	}
	return idem.Found, answer, nil
}
