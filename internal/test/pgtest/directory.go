package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/howdah/howdah/internal/embedded"
)

// The data directories of a test process are in a directory of its own: in
// memory where there is room, because each test makes and removes a thousand
// files, else under /tmp. TMPDIR is not asked: the path of a Unix socket is
// short.
const (
	inMemory = "/dev/shm"
	onDisk   = "/tmp"
	room     = 2 << 30 // bytes; a test process takes up to 400 MB
	prefix   = "howdah-pgtest-"
	// ownerName is a file that the process holds locked for as long as it runs,
	// also while its servers are stopped or have not started yet.
	ownerName = "owner"
)

// processDirectory is made at first use.
type processDirectory struct {
	mu    sync.Mutex
	path  string   // "" before the first use
	owner *os.File // locked
	made  int      // the number of data directories
}

var directory processDirectory

func base() string {
	var fs syscall.Statfs_t
	if syscall.Statfs(inMemory, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return onDisk
	}
	return inMemory
}

// newDataDir makes the directory of one server or backup, which counts as a
// data directory for package embedded.
func (d *processDirectory) newDataDir(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		sweep(ctx)
		if err := d.make(); err != nil {
			return "", err
		}
	}
	d.made++
	dir := filepath.Join(d.path, strconv.Itoa(d.made))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)
}

func (d *processDirectory) make() error {
	for {
		path, err := os.MkdirTemp(base(), prefix)
		if err != nil {
			return err
		}
		owner, err := takeOwnership(path)
		if errors.Is(err, errOwned) || errors.Is(err, os.ErrNotExist) {
			continue // the sweep of another process was quicker, and removes it
		}
		if err != nil {
			return err
		}
		d.path, d.owner = path, owner
		// The account that PostgreSQL runs as passes through.
		return os.Chmod(path, 0o711)
	}
}

// remove removes the directory, which is empty when all tests have cleaned up.
func (d *processDirectory) remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		return nil
	}
	defer d.owner.Close()
	return removeProcessDirectory(d.path)
}

// removeProcessDirectory removes the file of the owner last, while it is
// locked.
func removeProcessDirectory(path string) error {
	if err := os.Remove(filepath.Join(path, ownerName)); err != nil {
		return err
	}
	return os.Remove(path)
}

var errOwned = errors.New("another process uses the directory")

// takeOwnership locks the file of the owner. The kernel unlocks it when the
// process ends. A process that removes the directory holds the lock, so the
// locked file must be the one that is there.
func takeOwnership(path string) (*os.File, error) {
	name := filepath.Join(path, ownerName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errOwned
		}
		return nil, fmt.Errorf("%s cannot be locked: %w", name, err)
	}
	locked, err := f.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Lstat(name); err == nil && !os.SameFile(locked, now) {
			err = errOwned
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepLimit is how long a sweep may take: what is left after that must not keep the tests waiting.
const sweepLimit = 20 * time.Second

// sweep removes what test processes that were killed have left behind, their
// servers included. What cannot be removed stays for the next sweep.
func sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	for _, base := range []string{inMemory, onDisk} {
		left, _ := filepath.Glob(filepath.Join(base, prefix+"*"))
		for _, path := range left {
			if isOurs(path) {
				sweepOne(ctx, path)
			}
		}
	}
}

// isOurs: every user can write to these directories.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func sweepOne(ctx context.Context, path string) {
	owner, err := takeOwnership(path)
	if err != nil {
		return
	}
	defer owner.Close()
	dirs, _ := filepath.Glob(filepath.Join(path, "[0-9]*"))
	for _, dir := range dirs {
		// A server that its test had stopped by SIGSTOP would never end.
		for _, pid := range processesIn(filepath.Join(dir, clusterName)) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		if embedded.Remove(ctx, dir) != nil {
			return
		}
	}
	_ = removeProcessDirectory(path)
}
