package machine

import (
	"bytes"
	"context"
	"os"

	"golang.org/x/sys/unix"
)

func cpu(context.Context) string {
	text, _ := os.ReadFile("/proc/cpuinfo") // empty: unknown, as below
	return model(string(text))
}

func memory(context.Context) int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	return total(string(text))
}

func system(context.Context) string {
	text, _ := os.ReadFile("/etc/os-release")
	name := pretty(string(text))
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		return name
	}
	release, _, _ := bytes.Cut(kernel.Release[:], []byte{0})
	return join(name, "Linux "+string(release))
}
