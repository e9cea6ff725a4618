package devpg

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// StandbyOptions say how a standby follows its primary. The zero value is one
// that follows directly.
type StandbyOptions struct {
	// Name is the standby's application_name, by which the primary's
	// synchronous_standby_names may know it. Empty: standby.
	Name string

	// Through is where the standby reaches the primary, HOST:PORT, such as a
	// proxy's address. Empty: the primary's own.
	Through string

	// Settings win over those that are copied from the primary, except where
	// the primary was given them by ALTER SYSTEM. synchronous_standby_names is
	// empty unless it is set here: once promoted, the standby is alone.
	Settings map[string]string
}

// Standby makes a copy of the running server with pg_basebackup, and starts it
// as a hot standby that follows the server until Promote. The copy is a Server
// with a directory and a life of its own: Stop ends it alone. It returns when
// the standby accepts connections, which read what it has replayed.
func (s *Server) Standby(ctx context.Context, o StandbyOptions) (*Server, error) {
	source, err := s.binaries.basebackup(usualPlaces)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"synchronous_standby_names": ""}
	maps.Copy(settings, o.Settings)
	standby := &Server{
		options:  Options{Settings: settings, Env: s.options.Env, Log: s.options.Log},
		binaries: s.binaries, password: s.password,
	}
	err = standby.begin(ctx, func(ctx context.Context) error { return standby.copyOf(ctx, s, source, o) })
	if err != nil {
		return nil, err
	}
	return standby, nil
}

// copyOf makes the cluster a copy of the primary's, set up to follow it.
func (s *Server) copyOf(ctx context.Context, primary *Server, source Binaries, o StandbyOptions) error {
	if o.Name == "" {
		o.Name = "standby"
	}
	if o.Through == "" {
		o.Through = net.JoinHostPort("127.0.0.1", strconv.Itoa(primary.port))
	}
	host, port, err := net.SplitHostPort(o.Through)
	if err != nil {
		return fmt.Errorf("devpg: where the standby reaches its primary: %w", err)
	}
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	conninfo := fmt.Sprintf("host=%s port=%s user=postgres application_name=%s sslmode=disable gssencmode=disable",
		host, port, o.Name)
	// Not stream, which would take a second connection while it copies.
	cmd := s.commandOf(ctx, source, []string{"PGPASSWORD=" + s.password}, basebackup,
		"--pgdata="+filepath.Join(s.dir, "data"), "--write-recovery-conf", "--wal-method=fetch", "--checkpoint=fast", "--no-sync",
		"--dbname="+conninfo)
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	os.Remove(filepath.Join(s.dir, "pid"))
	if err != nil {
		return s.failed(basebackup, err)
	}
	return s.configure(render(s.options.Settings))
}

//go:embed promote.sql
var promoteSQL string

// Promote makes a standby a primary: it replays what it has received, and no
// longer follows. It returns when the server takes writes.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return s.failed("promote", err)
	}
	defer conn.Close(ctx)
	promoted := false
	err = conn.QueryRow(ctx, promoteSQL, patience.Seconds()).Scan(&promoted)
	if err == nil && !promoted {
		err = errors.New("it takes too long")
	}
	if err != nil {
		return s.failed("promote", err)
	}
	return nil
}
