//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopOrphan deals with the postmaster.pid of an earlier life. We hold the
// lock of the data directory, so whatever runs there has lost its program.
//
//   - No process of that number: PostgreSQL itself takes the file over.
//   - A postmaster of this cluster: it gets a fast shutdown (the watchdog may
//     already have asked for it) and we wait.
//   - Another process that was given the number meanwhile, usual in
//     containers: PostgreSQL would refuse to start. The file then gets our own
//     process number, which PostgreSQL knows for its parent's and thus for
//     stale. The file is not removed, because it also names the shared
//     memory by which PostgreSQL finds survivors of a killed postmaster.
func stopOrphan(ctx context.Context, pgdata string, log *slog.Logger) error {
	path := filepath.Join(pgdata, "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return nil // PostgreSQL judges it
	}
	if !alive(pid) {
		return nil
	}
	if !isPostmaster(ctx, pid, pgdata) {
		log.Warn("postmaster.pid names a process that is not PostgreSQL; taking it over", "file", path, "pid", pid)
		return replacePID(path, rest)
	}
	log.Warn("stopping a PostgreSQL that outlived its program", "pid", pid, "directory", pgdata)
	syscall.Kill(pid, syscall.SIGINT)
	for alive(pid) && isPostmaster(ctx, pid, pgdata) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL of an earlier run (process %d) does not stop: stop it with kill -QUIT %d", pid, pid)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isPostmaster says whether the process is a postmaster of this cluster. A
// postmaster's working directory is its data directory.
func isPostmaster(ctx context.Context, pid int, pgdata string) bool {
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		real, err := filepath.EvalSymlinks(pgdata)
		return err == nil && dir == real
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres") && strings.Contains(string(out), pgdata)
}

// replacePID puts our own number into the first line. The file keeps its
// owner: it is written in place, and its directory is the account's.
func replacePID(path, rest string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be taken over: %w", path, err)
	}
	_, err = fmt.Fprintf(f, "%d\n%s", os.Getpid(), rest)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("%s cannot be taken over: %w", path, err)
	}
	return nil
}
