package devpg

import (
	"io"
	"maps"
	"slices"
	"strings"
)

// Options say what server Start starts. The zero value is a server of
// whatever major version is at hand, with the settings of defaults.
type Options struct {
	// Bin is the directory of postgres and initdb. Empty: a Finder with its
	// zero value looks for them.
	Bin string

	// Major is the wanted major version, such as 16. 0: $PGIDEM_PG_MAJOR, or
	// any. It is not used when Bin is set.
	Major int

	// Settings are server settings as in postgresql.conf, such as
	// "autovacuum": "off"; they win over the defaults. They are written to
	// postgresql.conf, so ALTER SYSTEM wins over them. The port, the address
	// and the socket's directory cannot be set.
	Settings map[string]string

	// Env is added to the server's environment ("NAME=value"), for example an
	// LD_PRELOAD that moves the server's clock. initdb does not see it.
	Env []string

	// Log receives the server's log as it is written, from a goroutine that
	// ends with Stop. nil: the log goes only into the server's directory.
	Log io.Writer
}

// defaults are the settings of a server whose Options name none. fsync and
// synchronous_commit stay on: what tests of money see must be what a crash
// leaves behind.
var defaults = map[string]string{
	// Several test binaries run at once, each with many small pools.
	"max_connections": "400",
	// Shared memory as files in the data directory: a killed server leaves
	// nothing in /dev/shm.
	"dynamic_shared_memory_type": "mmap",
}

// conf renders the settings in the syntax of postgresql.conf, in a stable order.
func (o Options) conf() string {
	all := maps.Clone(defaults)
	maps.Copy(all, o.Settings)
	return render(all)
}

func render(settings map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := strings.ReplaceAll(settings[name], `\`, `\\`)
		b.WriteString(name + " = '" + strings.ReplaceAll(value, "'", "''") + "'\n")
	}
	return b.String()
}
