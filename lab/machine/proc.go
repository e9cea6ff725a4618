package machine

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
)

// model is the first processor's in the text of /proc/cpuinfo, where each line is a name, a colon and a value.
func model(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name", "Model": // Model is what ARM boards have
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// total is all memory in the text of /proc/meminfo, in bytes.
func total(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64) // 0: unknown
			return kib << 10
		}
	}
	return 0
}

// pretty is the system's name in the text of /etc/os-release.
func pretty(release string) string {
	for line := range strings.Lines(release) {
		if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// join joins what is not empty.
func join(name, kernel string) string {
	if name == "" {
		return kernel
	}
	return name + ", " + kernel
}

// output is what a program prints; empty: it cannot be run, or fails.
func output(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
