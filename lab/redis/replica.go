package redis

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Follow makes the server a replica of primary, which it reaches at an address, HOST:PORT, such as the primary's own or a
// proxy's. It returns when it has a copy of what the primary holds, and from then on follows. What it held before is gone.
func (s *Server) Follow(ctx context.Context, primary *Server, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("redis: where the replica reaches its primary: %w", err)
	}
	// The copy starts at once: by default it waits for 5 s, in case another replica comes.
	if err := primary.ask(ctx, "CONFIG", "SET", "repl-diskless-sync-delay", "0"); err != nil {
		return fmt.Errorf("redis: prepare the primary: %w", err)
	}
	for _, command := range [][]any{
		{"CONFIG", "SET", "masterauth", primary.Password},
		{"REPLICAOF", host, port},
	} {
		if err := s.ask(ctx, command...); err != nil {
			return fmt.Errorf("redis: follow %s: %w", address, err)
		}
	}
	return s.until(ctx, func(i replication) bool { return i.Role == "slave" && i.Link == "up" })
}

// CaughtUp returns when the replica has everything that its primary has answered so far.
func (s *Server) CaughtUp(ctx context.Context, primary *Server) error {
	there, err := primary.replication(ctx)
	if err != nil {
		return err
	}
	return s.until(ctx, func(i replication) bool { return i.Replica >= there.Primary })
}

// Promote makes a replica a primary, with what it has received so far.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.ask(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return fmt.Errorf("redis: promote: %w", err)
	}
	return s.until(ctx, func(i replication) bool { return i.Role == "master" })
}

// replication is what a server says of it.
type replication struct {
	Role    string // master or slave
	Link    string // of a replica to its primary, up or down
	Primary int64  // how far a primary's writes go, bytes
	Replica int64  // how far a replica has them
}

func (s *Server) replication(ctx context.Context) (replication, error) {
	client := s.Client()
	defer client.Close()
	return replicationOf(ctx, client)
}

func replicationOf(ctx context.Context, client *redis.Client) (replication, error) {
	info, err := client.InfoMap(ctx, "replication").Result()
	if err != nil {
		return replication{}, fmt.Errorf("redis: ask about the replication: %w", err)
	}
	said := info["Replication"]
	r := replication{Role: said["role"], Link: said["master_link_status"]}
	r.Primary, _ = strconv.ParseInt(said["master_repl_offset"], 10, 64)
	r.Replica, _ = strconv.ParseInt(said["slave_repl_offset"], 10, 64) // a replica's alone
	return r, nil
}

// until waits until what the server says of the replication is as wanted.
func (s *Server) until(ctx context.Context, wanted func(replication) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := s.Client()
	defer client.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		i, err := replicationOf(ctx, client)
		switch {
		case err == nil && wanted(i):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("redis: the replication does not come about: %+v\n%s", i, s.log())
		case err != nil:
			return err
		}
		<-tick.C
	}
}

func (s *Server) ask(ctx context.Context, command ...any) error {
	client := s.Client()
	defer client.Close()
	return client.Do(ctx, command...).Err()
}
