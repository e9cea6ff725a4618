package machine

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
)

// sources are the commit that the program was made from, and whether anything differs from it. Where the program runs outside
// the project's checkout, they are what the compiler wrote down; an empty commit: nothing.
func sources(ctx context.Context) (commit string, changed bool) {
	top := output(ctx, "git", "rev-parse", "--show-toplevel")
	if _, err := os.Stat(filepath.Join(top, "lab", "cmd", "lab")); top != "" && err == nil {
		return output(ctx, "git", "rev-parse", "HEAD"), output(ctx, "git", "-C", top, "status", "--porcelain") != ""
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	return commit, changed
}
