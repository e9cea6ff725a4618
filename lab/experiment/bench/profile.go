package bench

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profiled runs f, and writes a CPU profile of it to a file; an empty name: none.
func profiled(name string, f func() error) error {
	if name == "" {
		return f()
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}
