package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/keys"
)

func keysCommand() *command {
	k := keys.New()
	return &command{
		Experiment: k,
		Name:       "keys",
		Short:      "Compare UUIDv4 and UUIDv7 keys in a primary key that outgrows memory",
		Long: `Keys inserts UUIDv4 and UUIDv7 keys by turns, each kind on a server of its own
whose shared_buffers are smaller than a quarter of the index: into article 003's
table, then into idem.keys. It measures how fast they go in as the index grows,
how large the index becomes, how much WAL is written and how many pages are read.
Then it sends payments through the product into the table that is now so large,
each twice.

Either kind must be safe: no two keys meet, and each payment is charged once.`,
		Example: `  lab keys
  lab keys --rows 100000
  lab keys --json | jq '.result.tables[] | {name, kinds: [.kinds[] | {kind, index_bytes, wal_bytes}]}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&k.Rows, "rows", k.Rows, fmt.Sprintf("keys inserted into each table, at least %d", keys.MinRows))
			f.IntVar(&k.Payments, "payments", k.Payments, "payments sent through the product, each twice")
		},
	}
}
