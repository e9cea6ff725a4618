package machine

import (
	"context"
	"strconv"
)

func cpu(ctx context.Context) string { return output(ctx, "sysctl", "-n", "machdep.cpu.brand_string") }

func memory(ctx context.Context) int64 {
	bytes, _ := strconv.ParseInt(output(ctx, "sysctl", "-n", "hw.memsize"), 10, 64) // 0: unknown
	return bytes
}

func system(ctx context.Context) string {
	version := output(ctx, "sw_vers", "-productVersion")
	if version == "" {
		return ""
	}
	return "macOS " + version
}
