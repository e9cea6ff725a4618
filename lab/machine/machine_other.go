//go:build !linux && !darwin

package machine

import (
	"context"
	"runtime"
)

func cpu(context.Context) string    { return "" }
func memory(context.Context) int64  { return 0 }
func system(context.Context) string { return runtime.GOOS }
