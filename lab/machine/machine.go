// Package machine says what an experiment ran on.
package machine

import (
	"context"
	"runtime"
)

// Machine is what a run's figures belong to. What cannot be found out is Unknown, or 0.
type Machine struct {
	CPU         string `json:"cpu"` // model
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	OS          string `json:"os"`
	Go          string `json:"go"` // version, such as go1.26.1
	Commit      string `json:"commit"`
	// Changed is set where the sources are not those of the commit.
	Changed bool `json:"changed"`
}

// Unknown is what cannot be found out.
const Unknown = "unknown"

// This is the machine that the program runs on.
func This(ctx context.Context) Machine {
	m := Machine{
		CPU:         or(cpu(ctx)),
		Cores:       runtime.NumCPU(),
		MemoryBytes: memory(ctx),
		OS:          or(system(ctx)),
		Go:          runtime.Version(),
	}
	commit, changed := sources(ctx)
	m.Commit, m.Changed = or(commit), changed
	return m
}

func or(found string) string {
	if found == "" {
		return Unknown
	}
	return found
}
