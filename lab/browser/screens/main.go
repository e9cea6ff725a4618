// Screens photographs the top of the lab's report for its readers: screens FILE writes phone-light.png, phone-dark.png,
// desktop-light.png and desktop-dark.png beside it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pgidem/pgidem/lab/browser"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: screens FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := photograph(ctx, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "screens: %v\n", err)
		os.Exit(1)
	}
}

func photograph(ctx context.Context, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	b, err := browser.Open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	var views []browser.View
	for _, name := range []string{"phone-light", "phone-dark", "desktop-light", "desktop-dark"} {
		view := browser.Views(file)[name]
		view.Screenshot = filepath.Join(filepath.Dir(file), name+".png")
		views = append(views, view)
	}
	if _, err := b.Look(ctx, views); err != nil {
		return err
	}
	for _, v := range views {
		fmt.Println(v.Screenshot)
	}
	return nil
}
