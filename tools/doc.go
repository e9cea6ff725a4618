// Package tools pins the programs that build and check pgidem; go.mod holds them as Go tools.
package tools
