package mismatch

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
)

// ids are those of the charge: the article's, and the first integer that a float64 does not have.
var ids = []int64{1, 1<<53 + 1}

// receipt asks for one charge again and again, and compares the answers.
func (m *Mismatch) receipt(ctx context.Context, books ledger, w served, id int64, step func()) (Receipt, error) {
	r := Receipt{Writer: w.name, Ours: w.ours, ID: id, SameBytes: true, SameValue: true}
	if err := books.startAt(ctx, id); err != nil {
		return r, fmt.Errorf("start at charge %d: %w", id, err)
	}
	key := rand.Text()
	for i := range m.Callers {
		got, err := request{kind: "charge", cents: 49_00}.send(ctx, w.handler, key)
		if err != nil {
			return r, err
		}
		if got.status != http.StatusOK || got.replayed != (i > 0) {
			return r, fmt.Errorf("request %d was answered %d, replayed %t: %s", i+1, got.status, got.replayed, got.body)
		}
		step()
		if i == 0 {
			r.First = string(got.body)
			continue
		}
		same, err := sameValue([]byte(r.First), got.body)
		if err != nil {
			return r, err
		}
		r.Later = string(got.body)
		r.SameBytes = r.SameBytes && bytes.Equal([]byte(r.First), got.body)
		r.SameValue = r.SameValue && same
		r.Replays++
	}
	return r, nil
}
