//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// hba trusts the Unix socket, because its directory can be entered by the
// owner and root only. TCP needs the password.
const hba = `# Written by howdah at every start.
local  all          all                trust
local  replication  all                trust
host   all          all  127.0.0.1/32  scram-sha-256
host   all          all  ::1/128       scram-sha-256
`

// createCluster runs initdb in a directory of its own and renames it into
// place, so that a creation that was cut short leaves nothing to trip over.
func createCluster(ctx context.Context, bin installation, c Config, who account) error {
	final := filepath.Join(c.DataDir, clusterName)
	// The lock is ours, so whatever is here was cut short. The new name differs
	// from its, because an initdb that outlived its program may still write.
	unfinished, _ := filepath.Glob(final + ".new-*")
	for _, dir := range unfinished {
		if err := os.RemoveAll(dir); err != nil {
			return notWritable(c.DataDir, err)
		}
	}
	temp, err := os.MkdirTemp(c.DataDir, clusterName+".new-*")
	if err != nil {
		return notWritable(c.DataDir, err)
	}
	if err := who.own(temp); err != nil {
		return notWritable(c.DataDir, err)
	}
	args := []string{
		"-D", temp, "-U", SuperRole, "-E", "UTF8", "--locale=C",
		"--data-checksums", "--auth-local=trust", "--auth-host=scram-sha-256",
		"--no-instructions",
	}
	// initdb refuses scram for TCP without a password to begin with.
	if c.Settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	password, err := readPassword(c.DataDir)
	if err != nil {
		return err
	}
	pwfile, err := writeFor(who, temp+".password", password+"\n")
	if err != nil {
		return err
	}
	defer os.Remove(pwfile)
	args = append(args, "--pwfile="+pwfile)

	c.Progress(Progress{Doing: fmt.Sprintf("creating a PostgreSQL %d in %s", bin.major, final)})
	cmd := exec.CommandContext(ctx, filepath.Join(bin.dir, "initdb"), args...)
	cmd.Dir = c.DataDir
	cmd.Env = environment()
	cmd.SysProcAttr = who.attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // its children too
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(temp)
		if ctx.Err() != nil {
			return fmt.Errorf("creating the database cluster in %s was cut short: %w", c.DataDir, ctx.Err())
		}
		if saysFull(string(out)) {
			return full(c.DataDir)
		}
		return fmt.Errorf("creating the database cluster in %s failed: %w: %s", c.DataDir, err, lastLines(string(out), 3))
	}
	if err := os.Rename(temp, final); err != nil {
		return notWritable(c.DataDir, err)
	}
	c.Logger.Info("created a database cluster", "directory", final, "version", bin.major)
	return nil
}

// environment of PostgreSQL's programs: nothing of the caller's PGDATA, PGPORT
// and so on, and messages that can be parsed.
func environment() []string {
	return []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "LC_MESSAGES=C", "TZ=UTC"}
}

// writeConfiguration replaces postgresql.conf and pg_hba.conf. What an
// operator sets with ALTER SYSTEM is kept elsewhere and wins over it.
func writeConfiguration(pgdata string, who account) error {
	var b strings.Builder
	b.WriteString("# Written by howdah at every start; use ALTER SYSTEM to change a setting.\n")
	for _, s := range defaultSettings() {
		fmt.Fprintf(&b, "%s = '%s'\n", s[0], s[1])
	}
	for name, text := range map[string]string{"postgresql.conf": b.String(), "pg_hba.conf": hba} {
		if _, err := writeFor(who, filepath.Join(pgdata, name), text); err != nil {
			return err
		}
	}
	return nil
}

// writeFor replaces a file as a whole. It never follows a link that the
// account may have put there.
func writeFor(who account, path, text string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return "", fmt.Errorf("%s cannot be written: %w", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err == nil && who.drop {
		err = f.Chown(who.uid, who.gid)
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return path, nil
}

// defaultSettings suit a cache on a laptop: small, and quick to start.
func defaultSettings() [][2]string {
	return [][2]string{
		{"shared_buffers", strconv.Itoa(sharedBuffersMB()) + "MB"},
		{"max_connections", "50"},
		{"max_wal_size", "512MB"},
		{"min_wal_size", "64MB"},
		{"password_encryption", "scram-sha-256"},
		{"listen_addresses", ""},
		// Messages go to standard error, which the program reads and passes to
		// its own log: nothing to rotate. Statements stay out of them, because
		// they may hold what applications store.
		{"log_destination", "stderr"},
		{"logging_collector", "off"},
		{"log_line_prefix", ""},
		{"log_min_error_statement", "panic"},
		{"log_checkpoints", "off"},
		{"lc_messages", "C"},
		{"timezone", "UTC"},
		{"log_timezone", "UTC"},
		// One statement of the coalescer is short: compiling it never pays.
		{"jit", "off"},
		{"autovacuum_naptime", "15s"},
	}
}

// sharedBuffersMB is an eighth of the machine's memory, between 32 and 256 MB.
func sharedBuffersMB() int {
	total := memoryMB()
	if total == 0 {
		return 128
	}
	return min(256, max(32, total/8))
}

// memoryMB is the memory that this machine, or the container we are in, has;
// 0 if it is not known.
func memoryMB() int {
	total := 0
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kb); err == nil {
			total = kb / 1024
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			if mb := int(n >> 20); total == 0 || mb < total {
				total = mb
			}
		}
	}
	return total
}

// prepare makes the application's role and database. Each step looks first,
// so that a start that was cut short is finished by the next one.
func (s *Server) prepare(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.SuperURL())
	if err != nil {
		return fmt.Errorf("the private PostgreSQL does not answer: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// A standby has it all from its primary, and changes nothing. A primary must
	// start although its synchronous standby is away.
	var standby bool
	if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil || standby {
		return err
	}
	if _, err := conn.Exec(ctx, "SET synchronous_commit = local"); err != nil {
		return err
	}
	role := pgx.Identifier{Role}.Sanitize()
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", Role).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if _, err := conn.Exec(ctx, "CREATE ROLE "+role+" LOGIN"); err != nil {
			return err
		}
	}
	if s.password != "" {
		// rand.Text holds letters and digits only.
		for _, r := range []string{Role, SuperRole} {
			if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", r, s.password)); err != nil {
				return err
			}
		}
	}
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", Database).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{Database}.Sanitize()+" OWNER "+role)
	return err
}

var errExited = errors.New("PostgreSQL exited")
