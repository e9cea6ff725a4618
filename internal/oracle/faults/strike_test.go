package faults_test

import (
	"fmt"
	"time"
)

func (s *stage) killAndRestart() int {
	s.own.Server.Kill()
	time.Sleep(s.scale.down)
	if err := s.own.Server.Restart(s.Context()); err != nil {
		s.Fatal(err)
	}
	return 1
}

// terminateBackends ends a backend that is at work, of whichever process, at most ten times a second.
func (s *stage) terminateBackends() (times int) {
	for end := time.Now().Add(s.scale.lasting); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s.count(`SELECT count(pg_terminate_backend(pid)) FROM (
			SELECT pid FROM pg_stat_activity WHERE application_name LIKE $1 AND state <> 'idle' ORDER BY random() LIMIT 1) AS busy`,
			application+"%") == 1 {
			times++
			time.Sleep(100 * time.Millisecond)
		}
	}
	return times
}

// loseCommits ends the connection of every tenth COMMIT before the client has the answer, half of them before the server has the
// COMMIT.
func (s *stage) loseCommits() (times int) {
	for _, p := range s.processes {
		p.way.losing.Store(true)
	}
	time.Sleep(s.scale.lasting)
	for _, p := range s.processes {
		p.way.losing.Store(false)
		times += int(p.way.commits.Load() / 10)
	}
	return times
}

// delayed delays the answers of the server to both processes by d.
func delayed(d time.Duration) func(*stage) int {
	return func(s *stage) int {
		for _, p := range s.processes {
			defer p.way.poison(s.T, "latency", fmt.Sprintf(`"latency": %d`, d.Milliseconds()), "downstream")()
		}
		time.Sleep(s.scale.lasting)
		return 1
	}
}

// partition loses what both processes and the server send, and ends the connections when it is over.
func (s *stage) partition() int {
	for _, p := range s.processes {
		defer p.way.poison(s.T, "timeout", `"timeout": 0`, "upstream", "downstream")()
	}
	time.Sleep(s.scale.part)
	return 1
}

// stallOne holds back what the first process and the server send, and then delivers it: as TCP does, which sends again what was
// lost, and whose connections outlive a partition.
func (s *stage) stallOne() int {
	first := s.processes[0].way.messages
	first.Stall(true)
	time.Sleep(s.scale.part)
	first.Stall(false)
	return 1
}

// stallAnswersOfOne holds back what the server sends to the first process, and goes on doing what it is told.
func (s *stage) stallAnswersOfOne() int {
	first := s.processes[0].way.messages
	first.StallAnswers(true)
	time.Sleep(s.scale.part)
	first.StallAnswers(false)
	return 1
}
