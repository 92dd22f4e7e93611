package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/howdah/howdah/internal/embedded"
)

// Standby makes a standby of this server: a base backup that follows it by
// streaming replication and answers reads. It returns when it streams. The
// name, lower-case letters and digits, is that of the connection
// (application_name) and of the replication slot, which keeps back the WAL
// while the standby is down. Settings are the primary's and the given ones.
//
// Stop, Kill and Start serve it as any server. A killed primary and a
// promoted standby are two servers; nothing makes a standby of the former
// but Follow.
func (s *Server) Standby(name string, settings ...string) *Server {
	s.t.Helper()
	dir := s.emptyDir()
	s.must(s.backUp(filepath.Join(dir, clusterName), name))
	s.must(writeLike(filepath.Join(dir, clusterName), "standby.signal", ""))
	// Whoever sets it otherwise wins: by default, a standby looks for its
	// primary every five seconds.
	quick := []string{"wal_retrieve_retry_interval", "100ms"}
	standby := s.startCopy(dir, s.conninfo(name), append(quick, settings...))
	standby.name = name
	s.awaitStreaming(name)
	return standby
}

// conninfo is the part of postgresql.auto.conf by which a standby follows s.
func (s *Server) conninfo(name string) string {
	return fmt.Sprintf("primary_conninfo = '%s'\nprimary_slot_name = '%s'\n", s.primaryConninfo(name), name)
}

func (s *Server) primaryConninfo(name string) string {
	q := parse(s.URL()).Query()
	return fmt.Sprintf("host=%s port=%s user=%s application_name=%s", q.Get("host"), q.Get("port"), embedded.SuperRole, name)
}

func (s *Server) awaitStreaming(name string) {
	s.t.Helper()
	s.awaitSQL("standby "+name+" to stream",
		"SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming')", name)
}

// Follow makes a stopped server, such as a former primary that was stopped in
// order before its standby was promoted, a standby of another one, and starts
// it.
func (s *Server) Follow(primary *Server, name string) {
	s.t.Helper()
	cluster := filepath.Join(s.dir, clusterName)
	primary.exec(fmt.Sprintf(`SELECT pg_create_physical_replication_slot('%s', true)
		WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '%[1]s')`, name))
	s.must(writeLike(cluster, "postgresql.auto.conf", primary.conninfo(name)))
	s.must(writeLike(cluster, "standby.signal", ""))
	s.name = name
	s.Start()
	primary.awaitStreaming(name)
}

// Promote makes a primary of a standby, whether or not its own one lives.
func (s *Server) Promote() {
	s.t.Helper()
	s.exec("SELECT pg_promote(wait => false)")
	s.awaitSQL("the promotion", "SELECT NOT pg_is_in_recovery()")
}

// Synchronous makes commits wait until these standbys have flushed them; with
// none, for nobody. The setting outlives restarts.
func (s *Server) Synchronous(standbys ...*Server) {
	s.t.Helper()
	value := ""
	names := make([]string, len(standbys))
	for i, standby := range standbys {
		names[i] = standby.name
	}
	if len(names) > 0 {
		value = fmt.Sprintf("FIRST %d (%s)", len(names), strings.Join(names, ", "))
	}
	s.exec("SET synchronous_commit = local",
		fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'", value), "SELECT pg_reload_conf()")
	// New connections know the setting once the postmaster does.
	s.await("synchronous_standby_names to be read", func(ctx context.Context) (bool, error) {
		conn := s.connect(ctx)
		defer conn.Close(ctx)
		var now string
		err := conn.QueryRow(ctx, "SHOW synchronous_standby_names").Scan(&now)
		return now == value, err
	})
	// It is the checkpointer that tells the other sessions to wait. It reads
	// its settings before a checkpoint that it is asked for.
	s.exec("CHECKPOINT")
	s.awaitSQL("the standbys to be synchronous",
		"SELECT count(*) = $1 FROM pg_stat_replication WHERE sync_state = 'sync'", len(names))
}

// AwaitReplay returns when this standby shows what its primary has
// acknowledged by now, and what was committed with synchronous_commit=off.
func (s *Server) AwaitReplay(primary *Server) {
	s.t.Helper()
	s.awaitSQL("the replay of what the primary has committed",
		"SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)", primary.flush())
}

// flush flushes the WAL and returns where it ends.
func (s *Server) flush() (lsn string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn := s.connect(ctx)
	defer conn.Close(ctx)
	_, err := conn.Exec(ctx, "SET synchronous_commit = local") // a standby may be away
	s.must(err)
	_, err = conn.Exec(ctx, "SELECT pg_current_xact_id()") // its commit flushes all that is before it
	s.must(err)
	s.must(conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&lsn))
	return lsn
}

// PauseReplay makes a standby keep what it receives without showing it.
func (s *Server) PauseReplay() {
	s.t.Helper()
	s.exec("SELECT pg_wal_replay_pause()")
	s.awaitSQL("the pause of the replay", "SELECT pg_get_wal_replay_pause_state() = 'paused'")
}

// ResumeReplay ends PauseReplay.
func (s *Server) ResumeReplay() {
	s.t.Helper()
	s.exec("SELECT pg_wal_replay_resume()")
}

// CutReplication makes a standby receive nothing more, as when the network
// between the two is cut: it goes on to answer, and lags further and further.
func (s *Server) CutReplication() {
	s.t.Helper()
	s.exec("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	s.awaitSQL("the end of the replication", "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")
}

// JoinReplication ends CutReplication and returns when the standby streams.
func (s *Server) JoinReplication(primary *Server) {
	s.t.Helper()
	s.exec(fmt.Sprintf("ALTER SYSTEM SET primary_conninfo = '%s'", primary.primaryConninfo(s.name)), "SELECT pg_reload_conf()")
	primary.awaitStreaming(s.name)
}

// Hosts is one URL that names several servers, in this order, by TCP: a client
// looks for the one that it needs. Add "&target_session_attrs=..." to say
// which.
func Hosts(servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = parse(TCP(s.URL())).Host
	}
	u := parse(TCP(servers[0].URL()))
	// Not by net/url, which refuses more than one port.
	password, _ := u.User.Password()
	user := url.UserPassword(u.User.Username(), password)
	return fmt.Sprintf("postgres://%s@%s%s?%s", user, strings.Join(hosts, ","), u.Path, u.RawQuery)
}
