package faults_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// abandoned counts the keys that nobody has finished, once Settle has passed since the end of the last lease.
func (s *stage) abandoned() int {
	s.Helper()
	s.eventually("Settle has passed", lease+settle+slack, func() bool {
		return s.count(`SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND status = 'in_flight'
			AND locked_until + $2::interval > statement_timestamp()`, s.Name(), settle) == 0
	})
	return s.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND status NOT IN ('committed', 'failed')", s.Name())
}

// comeBack is every client once more, also those that gave up. The first call answers each; those that it did not come back.
func (s *stage) comeBack() (unresolved int) {
	s.Helper()
	var failed atomic.Int64
	store := &idem.Store{Pool: testdb.Pool(s.T, s.own.URL, testdb.AsSuperuser), Policy: s.policy()}
	s.Cleanup(store.Close)
	ids := make(chan string)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for id := range ids {
				if err := s.load.call(store, id); err != nil {
					s.Errorf("%s is unresolved: %v", id, err)
					failed.Add(1)
				}
			}
		})
	}
	for _, id := range s.load.ids {
		ids <- id
	}
	close(ids)
	clients.Wait()
	return int(failed.Load())
}

func (s *stage) wantOneEffectAndOneAnswer() (total int) {
	s.Helper()
	effects, bodies := s.effects()
	for _, n := range effects {
		total += n
	}
	for _, id := range s.load.ids {
		if n := effects[id]; n != 1 {
			s.Errorf("%s has %d effects, want 1", id, n)
		}
		if got := s.load.answers[id]; len(got) != 1 || got[0] != bodies[id] {
			s.Errorf("%s was answered %q, want %q alone", id, got, bodies[id])
		}
		delete(effects, id)
	}
	if len(effects) > 0 {
		s.Errorf("effects of keys that were never sent: %v", effects)
	}
	return total
}

// effects counts what happened for each key, and says what the first of it is to be answered with.
func (s *stage) effects() (n map[string]int, answer map[string]string) {
	s.Helper()
	n, answer = make(map[string]int), make(map[string]string)
	rows, err := s.own.Pool.Query(s.Context(), "SELECT key, id FROM charges WHERE tenant = $1 ORDER BY id DESC", s.Name())
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var id int
		if err := rows.Scan(&key, &id); err != nil {
			s.Fatal(err)
		}
		n[key]++
		answer[key] = string(charged(id).Body)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	downstream := s.downstreamKeys()
	s.cards.mu.Lock()
	defer s.cards.mu.Unlock()
	for key, ids := range s.cards.charges {
		id, known := downstream[key]
		if !known {
			id = fmt.Sprintf("unknown downstream key %s", key)
		}
		n[id] += len(ids)
		answer[id] = string(charged(ids[0]).Body)
	}
	return n, answer
}

// downstreamKeys are the keys of lease mode by what they are to the processor.
func (s *stage) downstreamKeys() map[string]string {
	s.Helper()
	all := make(map[string]string)
	for _, id := range s.load.ids {
		if strings.HasPrefix(id, "hold") {
			record, err := s.processes[1].store.Lookup(s.Context(), s.load.key(id))
			if err != nil {
				s.Fatalf("%s: %v", id, err)
			}
			all[record.DownstreamKey(charge)] = id
		}
	}
	return all
}
