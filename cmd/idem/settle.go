package main

import (
	"context"
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
	answer     answer
	header     []string // lines
	body, file string
	retention  time.Duration
}

func newSettle(db *source) *cobra.Command {
	s := settle{operation: operation{db: db}}
	cmd := &cobra.Command{
		Use:   "settle --tenant TENANT --endpoint ENDPOINT --status STATUS --reason REASON KEY",
		Short: "Finish a key with an answer that you have found out",
		Long: `settle finishes an abandoned key, or one that was given back, whose effect has
happened: every retry gets the answer given here. Ask the downstream first.

--body is the answer's body, --body-file the file that holds it ('-' is standard
input), of up to 1 MiB; with neither the body is empty. --header may be repeated.
--failed says that the answer is a refusal, such as a declined card; it is
replayed, too.

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
			if err := s.check(cmd); err != nil {
				return err
			}
			if err := s.readBody(); err != nil {
				return err
			}
			return s.run(cmd.Context(), "Settle", "settled", settleable, s.settle)
		},
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&s.answer.status, "status", 0, "the status of the answer, 100 to 999, 0 for none (required)")
	f.StringArrayVar(&s.header, "header", nil, "a line of the answer's header, 'Name: value'; repeatable")
	f.StringVar(&s.body, "body", "", "the body of the answer")
	f.StringVar(&s.file, "body-file", "", "the file with the body of the answer; - is standard input")
	f.BoolVar(&s.answer.failed, "failed", false, "the answer is a definitive refusal")
	f.StringVar(&s.answer.providerRef, "provider-ref", "", "the downstream's own name for the effect")
	f.DurationVar(&s.retention, "retention", 24*time.Hour, "how long the answer is kept from now on, at least")
	return cmd
}

func (s *settle) check(cmd *cobra.Command) error {
	hasFile := cmd.Flags().Changed("body-file")
	switch {
	case !cmd.Flags().Changed("status"):
		return wrongUse(cmd, "--status is missing")
	case s.retention <= 0:
		return wrongUse(cmd, "--retention must be above 0")
	case cmd.Flags().Changed("body") && hasFile:
		return wrongUse(cmd, "--body and --body-file exclude each other")
	case hasFile && s.file == "": // an unset shell variable must not lead to an empty answer
		return wrongUse(cmd, "--body-file is empty")
	case s.file == "-" && !s.yes:
		return wrongUse(cmd, "--body-file - needs --yes: standard input cannot be both the body and the answer")
	}
	s.answer.header = http.Header{}
	for _, line := range s.header {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return wrongUse(cmd, "--header %q is not 'Name: value'", line)
		}
		s.answer.header.Add(name, strings.Trim(value, " \t"))
	}
	if err := s.answer.check(); err != nil {
		return wrongUse(cmd, "%s", err)
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
	return s.answer.record(ctx, db, &s.operation, seen, s.retention)
}

func (s *settle) readBody() error {
	s.answer.body = []byte(s.body)
	if s.file == "" {
		return nil
	}
	in := s.in
	if s.file != "-" {
		file, err := os.Open(s.file)
		if err != nil {
			return fmt.Errorf("--body-file: %w", err)
		}
		defer file.Close()
		in = file
	}
	var err error
	s.answer.body, err = io.ReadAll(io.LimitReader(in, mostBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("--body-file: %w", err)
	case len(s.answer.body) > mostBody:
		return errors.New("--body-file holds more than 1 MiB: nothing was changed")
	}
	return nil
}
