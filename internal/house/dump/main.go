// Dump writes the migrated schema as one file of SQL, or compares one with it:
//
//	go run ./internal/house/dump -write sql/schema.sql
//	go run ./internal/house/dump -compare sql/schema.sql
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	write := flag.String("write", "", "write the dump to this `file`")
	compare := flag.String("compare", "", "fail if this `file` is not the dump")
	flag.Parse()
	if flag.NArg() > 0 || (*write == "") == (*compare == "") {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), *write, *compare); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, write, compare string) error {
	text, err := dump(ctx)
	if err != nil {
		return fmt.Errorf("dump the schema: %w", err)
	}
	if write != "" {
		return os.WriteFile(write, text, 0o644)
	}
	stored, err := os.ReadFile(compare)
	if err != nil {
		return fmt.Errorf("%w: run make generate", err)
	}
	if bytes.Equal(stored, text) {
		return nil
	}
	cmd := exec.Command("diff", "-u", compare, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), os.Stdout, os.Stderr
	_ = cmd.Run() // for the reader's eyes: that they differ is known
	return fmt.Errorf("%s is not what the migrations make: run make generate", compare)
}
