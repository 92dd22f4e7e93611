package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/jackc/pgx/v5"
)

// clusterName is where package embedded keeps the cluster in a data
// directory. Beside it are the lock and the password.
const clusterName = "pg"

// Backup is a base backup: a copy of a running server's files, with the WAL
// that was written meanwhile. It is removed at the end of the test.
type Backup struct {
	of  *Server
	dir string
}

// Backup makes a base backup with PostgreSQL's low-level functions: what is
// downloaded for tests holds no pg_basebackup. Tablespaces are not supported.
func (s *Server) Backup() *Backup {
	s.t.Helper()
	b := s.newBackup()
	s.must(s.backUp(b.cluster(), ""))
	return b
}

func (s *Server) newBackup() *Backup {
	s.t.Helper()
	b := &Backup{of: s, dir: s.emptyDir()}
	s.t.Cleanup(func() { os.RemoveAll(b.dir) })
	return b
}

// emptyDir makes a data directory with everything in it but the cluster. Its
// password is this server's, as the roles are.
func (s *Server) emptyDir() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	dir, err := directory.newDataDir(ctx)
	s.must(err)
	s.must(copyPassword(s.dir, dir))
	return dir
}

// copyPassword gives the roles of one data directory the password of those of another.
func copyPassword(from, to string) error {
	password, err := os.ReadFile(filepath.Join(from, "password"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "password"), password, 0o600)
}

func (b *Backup) cluster() string { return filepath.Join(b.dir, clusterName) }

// Restore starts a new server from a copy of the backup. It is as its
// original was at the end of the backup, and knows nothing of it. Settings
// are those of the original and the given ones.
func (b *Backup) Restore(settings ...string) *Server {
	b.of.t.Helper()
	dir := b.of.emptyDir()
	b.of.must(copyTree(b.cluster(), filepath.Join(dir, clusterName), nil))
	return b.of.startCopy(dir, "", settings)
}

// startCopy starts a server from a data directory that was made of this
// server's files. auto is its postgresql.auto.conf.
func (s *Server) startCopy(dir, auto string, settings []string) *Server {
	s.t.Helper()
	c := &Server{t: s.t, settings: maps.Clone(s.settings)}
	c.set(settings)
	s.must(writeLike(filepath.Join(dir, clusterName), "postgresql.auto.conf", auto))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	server, err := startIn(ctx, dir, "127.0.0.1:0", c.settings)
	if err != nil {
		_ = embedded.Remove(ctx, dir)
		s.t.Fatalf("pgtest: %v", err)
	}
	c.begin(server)
	return c
}

// backUp copies the cluster to a directory that does not exist yet. The WAL
// it needs is kept back by the replication slot, or without a name by one that
// lasts as long as the backup.
func (s *Server) backUp(to, slot string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.SuperURL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "SELECT pg_create_physical_replication_slot($1, true, $2)", orTemporary(slot), slot == "")
	if err != nil {
		return err
	}
	start, stop := "pg_backup_start('pgtest', true)", "pg_backup_stop(false)"
	if s.Major() == 14 {
		start, stop = "pg_start_backup('pgtest', true, false)", "pg_stop_backup(false, false)"
	}
	var first, last, label string
	if err := conn.QueryRow(ctx, "SELECT pg_walfile_name("+start+")").Scan(&first); err != nil {
		return err
	}
	from := filepath.Join(s.dir, clusterName)
	if err := copyTree(from, to, leftOut); err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, "SELECT pg_walfile_name(lsn), labelfile FROM "+stop).Scan(&last, &label); err != nil {
		return err
	}
	err = copyTree(filepath.Join(from, "pg_wal"), filepath.Join(to, "pg_wal"), func(path string) bool {
		// The first eight digits are the timeline.
		return strings.Contains(path, "/") || !strings.HasSuffix(path, ".history") &&
			(len(path) != 24 || path[8:] < first[8:] || path[8:] > last[8:])
	})
	if err != nil {
		return err
	}
	return writeLike(to, "backup_label", label)
}

func orTemporary(slot string) string {
	if slot == "" {
		return "pgtest_backup"
	}
	return slot
}

// leftOut names what a base backup does without, as the manual lists it.
func leftOut(path string) bool {
	top, rest, _ := strings.Cut(path, "/")
	switch top {
	case "pg_wal", "pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans":
		return rest != ""
	case "postmaster.pid", "postmaster.opts", "standby.signal", "backup_label":
		return true
	}
	name := filepath.Base(path)
	return strings.HasPrefix(name, "pgsql_tmp") || name == "pg_internal.init"
}

// copyTree copies a directory of a cluster that may be in use: what vanishes
// meanwhile is left out. The copy belongs to whom the original belongs to.
func copyTree(from, to string, leftOut func(path string) bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if name != "." && leftOut != nil && leftOut(name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case info.IsDir():
			if err := os.Mkdir(target, info.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return ownLike(target, info)
		case info.Mode().IsRegular():
			return copyFile(path, target, info)
		default:
			return fmt.Errorf("%s is neither a file nor a directory", path)
		}
	})
}

func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err2 := out.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return err
	}
	return ownLike(to, info)
}

// writeLike writes a file into a cluster; it belongs to whom the cluster does.
func writeLike(cluster, name, text string) error {
	info, err := os.Stat(cluster)
	if err != nil {
		return err
	}
	path := filepath.Join(cluster, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return ownLike(path, info)
}

// ownLike matters to root only, who starts PostgreSQL as somebody else.
func ownLike(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, int(st.Uid), int(st.Gid))
}
