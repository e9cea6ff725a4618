package redis

import (
	"os/exec"

	"github.com/pgidem/pgidem/internal/debian"
)

// find returns the program, which is installed where that may be done.
func find() (string, error) { return debian.Find("redis-server", local) }

func local() (string, bool) {
	path, err := exec.LookPath("redis-server")
	return path, err == nil
}
