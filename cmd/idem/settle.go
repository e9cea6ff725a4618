package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/gen"
)

// settle is idem settle.
type settle struct {
	operation
	status      int
	header      []string
	body, file  string
	hasBody     bool
	failed      bool
	providerRef string
	retention   time.Duration
}

func newSettle(db *source) *cobra.Command {
	s := settle{operation: operation{db: db}}
	cmd := &cobra.Command{
		Use:   "settle --tenant TENANT --endpoint ENDPOINT --status STATUS --reason REASON KEY",
		Short: "Finish a key with an answer that you have found out",
		Long: `settle finishes an abandoned key, or one that was given back, whose effect has
happened: every retry gets the answer given here. Ask the downstream first.

--body is the answer's body, --body-file the file that holds it ('-' is standard
input); with neither the body is empty. --header may be repeated. --failed says
that the answer is a refusal, such as a declined card; it is replayed, too.

It refuses where a lease runs, and where the key has moved on since it was seen.
A row in idem.audit says who did it and why.`,
		Example: `  idem settle --tenant acme --endpoint 'POST /charges' --status 201 \
      --header 'Content-Type: application/json' --body '{"id":"ch_123"}' \
      --provider-ref ch_123 --reason 'charge ch_123 stands at the processor' k-1`,
		Args: arguments("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.operation.check(cmd, args); err != nil {
				return err
			}
			s.hasBody = cmd.Flags().Changed("body")
			if err := s.check(cmd); err != nil {
				return err
			}
			return s.run(cmd.Context(), "Settle", "settled", settleable, s.settle)
		},
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&s.status, "status", 0, "the status of the answer, 100 to 999 (required)")
	f.StringArrayVar(&s.header, "header", nil, "a line of the answer's header, 'Name: value'; repeatable")
	f.StringVar(&s.body, "body", "", "the body of the answer")
	f.StringVar(&s.file, "body-file", "", "the file with the body of the answer; - is standard input")
	f.BoolVar(&s.failed, "failed", false, "the answer is a definitive refusal")
	f.StringVar(&s.providerRef, "provider-ref", "", "the downstream's own name for the effect")
	f.DurationVar(&s.retention, "retention", 24*time.Hour, "how long the answer is kept from now on, at least")
	return cmd
}

func (s *settle) check(cmd *cobra.Command) error {
	switch {
	case s.status < 100 || s.status > 999:
		return wrongUse(cmd, "--status must be 100 to 999")
	case s.retention <= 0:
		return wrongUse(cmd, "--retention must be above 0")
	case s.hasBody && s.file != "":
		return wrongUse(cmd, "--body and --body-file exclude each other")
	case s.file == "-" && !s.yes:
		return wrongUse(cmd, "--body-file - needs --yes: standard input cannot be both the body and the answer")
	}
	for _, line := range s.header {
		if name, _, ok := strings.Cut(line, ":"); !ok || name == "" || strings.ContainsAny(line, "\r\n\x00") {
			return wrongUse(cmd, "--header %q is not 'Name: value'", line)
		}
	}
	return nil
}

func settleable(seen gen.KeyLookupRow) error {
	switch seen.State {
	case "abandoned", "released":
		return nil
	case "held":
		return notHeld(seen)
	}
	return fmt.Errorf("the key is %s already: nothing was changed", seen.State)
}

func (s *settle) settle(ctx context.Context, db gen.DBTX, seen gen.KeyLookupRow) (int64, error) {
	body, err := s.readBody()
	if err != nil {
		return 0, err
	}
	var claim [16]byte
	_, _ = rand.Read(claim[:]) // never fails
	status := "committed"
	if s.failed {
		status = "failed"
	}
	return gen.New().OperatorSettle(ctx, db, gen.OperatorSettleParams{
		Retention: s.retention, ClaimID: idOf(claim), ResponseStatus: int32(s.status), Status: status,
		ResponseHeader: s.headerBlock(), ResponseBody: body, ProviderRef: textOrNull(s.providerRef),
		TenantID: s.tenant, Endpoint: s.endpoint, Key: s.key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: s.who, Reason: s.reason,
	})
}

func (s *settle) readBody() ([]byte, error) {
	const most = 1 << 20 // as Policy.MaxBody has it
	if s.file == "" {
		return []byte(s.body), nil
	}
	in := s.in
	if s.file != "-" {
		file, err := os.Open(s.file)
		if err != nil {
			return nil, fmt.Errorf("--body-file: %w", err)
		}
		defer file.Close()
		in = file
	}
	body, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--body-file: %w", err)
	case len(body) > most:
		return nil, errors.New("--body-file holds more than 1 MiB: nothing was changed")
	}
	return append([]byte{}, body...), nil
}

// headerBlock is the header as it is stored.
func (s *settle) headerBlock() []byte {
	block := []byte{}
	for _, line := range s.header {
		name, value, _ := strings.Cut(line, ":")
		block = fmt.Appendf(block, "%s: %s\r\n", http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
	return block
}
