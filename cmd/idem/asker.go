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
)

// asker is the operator's command that asks the downstream about a key.
type asker struct {
	command string
	timeout time.Duration
	stderr  io.Writer
}

// mostOutput is how much the command may write: a body of 1 MiB in base64, and its header.
const mostOutput = 4 << 20

// ask runs the command for one key. Whatever is not a verdict is an error, and the verdict then pending.
func (a *asker) ask(ctx context.Context, q question) (verdict, *answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("the command took longer than %s", a.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", a.command)
	apart(cmd)
	cmd.WaitDelay = time.Second // for what the shell has left running
	input, err := json.Marshal(q)
	if err != nil {
		return verdictPending, nil, err
	}
	output := bounded{most: mostOutput}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), &output, a.stderr
	if err := cmd.Run(); err != nil {
		if cmd.Process != nil {
			_ = killWhole(cmd) // if anything is left
		}
		switch {
		case output.full != nil:
			err = output.full // which is why its shell failed
		case ctx.Err() != nil:
			return verdictPending, nil, context.Cause(ctx)
		}
		return verdictPending, nil, fmt.Errorf("the command: %w", err)
	}
	return readReply(output.text.Bytes())
}

// bounded keeps what is written, up to a size.
type bounded struct {
	text bytes.Buffer
	most int
	full error // that there was more
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.most {
		b.full = fmt.Errorf("it wrote more than %d MiB", b.most>>20)
		return 0, b.full
	}
	return b.text.Write(p)
}

// reply is what the command writes; its names are stable.
type reply struct {
	Verdict     verdict             `json:"verdict"`
	Status      *int                `json:"status"`
	Header      map[string][]string `json:"header"`
	Body        *string             `json:"body"`
	BodyBase64  []byte              `json:"body_base64"`
	Failed      bool                `json:"failed"`
	ProviderRef string              `json:"provider_ref"`
}

func readReply(output []byte) (verdict, *answer, error) {
	d := json.NewDecoder(bytes.NewReader(output))
	d.DisallowUnknownFields()
	var r reply
	if err := d.Decode(&r); err != nil {
		return verdictPending, nil, fmt.Errorf("the command's output is no verdict: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return verdictPending, nil, errors.New("the command's output is more than one verdict")
	}
	switch r.Verdict {
	case verdictFound:
	case verdictNothing, verdictPending:
		if r.Status != nil || r.Header != nil || r.Body != nil || r.BodyBase64 != nil || r.Failed || r.ProviderRef != "" {
			return verdictPending, nil, fmt.Errorf("the command's verdict is %s, and yet it gave an answer", r.Verdict)
		}
		return r.Verdict, nil, nil
	default:
		return verdictPending, nil, fmt.Errorf("the command's verdict is %q, and not found, nothing or pending", r.Verdict)
	}
	switch {
	case r.Status == nil:
		return verdictPending, nil, errors.New("the command found an answer without a status")
	case r.Body != nil && r.BodyBase64 != nil:
		return verdictPending, nil, errors.New("the command gave both body and body_base64")
	}
	a := &answer{status: *r.Status, header: r.Header, body: r.BodyBase64, failed: r.Failed, providerRef: r.ProviderRef}
	if r.Body != nil {
		a.body = []byte(*r.Body)
	}
	if err := a.check(); err != nil {
		return verdictPending, nil, fmt.Errorf("the command's answer: %w", err)
	}
	return verdictFound, a, nil
}
