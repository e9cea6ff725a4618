package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is wrong use: exit code 2 and a hint.
type usageError struct {
	cmd  *cobra.Command
	text string
}

func (e *usageError) Error() string { return e.text }

func wrongUse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{cmd, fmt.Sprintf(format, args...)}
}

// report says on stderr what went wrong, if anything did, and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "idem: %s\n", strings.TrimPrefix(err.Error(), "idem: ")) // the library's errors bring the prefix
	var wrong *usageError
	if !errors.As(err, &wrong) {
		return 1
	}
	fmt.Fprintf(stderr, "usage: %s\nSee %s --help.\n", wrong.cmd.UseLine(), wrong.cmd.CommandPath())
	return 2
}

// arguments takes exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return wrongUse(cmd, "%s is missing", names[len(args)])
		case len(args) > len(names):
			return wrongUse(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// wantCommand runs a command that only groups others.
func wantCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return wrongUse(cmd, "a command is missing: one of %s", strings.Join(names, ", "))
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2 // typing mistakes apart
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return wrongUse(cmd, "%s", text)
}

// newHelp is cobra's help command, except that an unknown command is wrong use.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say what a command does and takes",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return wrongUse(cmd, "unknown command %q", strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}
