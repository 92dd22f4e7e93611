//go:build unix

package embedded

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The names inside a data directory.
const (
	clusterName  = "pg"
	socketName   = "run"
	lockName     = "lock"
	passwordName = "password"
)

// lock is held as long as one program uses a data directory. The kernel
// releases it when the program dies.
type lock struct{ file *os.File }

// release unlocks before it closes: a child process that is being started at
// this moment has the file too, until it runs its program.
func (l *lock) release() {
	if l != nil && l.file != nil {
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
		l.file.Close()
	}
}

// claimDataDir makes the directory if need be, checks that this package made it,
// and takes its lock.
func claimDataDir(dir string, who account) (*lock, error) {
	fresh, err := makeDataDir(dir)
	if err != nil {
		return nil, err
	}
	if err := who.canReach(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	if !fresh {
		if err := checkDataDir(dir); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, notWritable(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, inUse(dir, f)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	if err == nil {
		err = os.Chmod(dir, dataDirMode(who))
	}
	if err != nil {
		f.Close()
		return nil, notWritable(dir, err)
	}
	return &lock{file: f}, nil
}

// dataDirMode: the directory stays root's when root starts the server, so that
// the account can only change what lies in pg and run. It must pass through.
func dataDirMode(who account) os.FileMode {
	if who.drop {
		return 0o711
	}
	return 0o700
}

// makeDataDir reports whether it made the directory.
func makeDataDir(dir string) (fresh bool, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return false, notWritable(dir, err)
	}
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, notWritable(dir, err)
	}
	return true, nil
}

// checkDataDir refuses a directory that belongs to another user, or that holds
// anything but what this package puts there.
func checkDataDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data directory %s is not a directory: choose another one", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("data directory %s belongs to another user (uid %d): choose another one, or run as that user", dir, st.Uid)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory %s cannot be read: %w", dir, err)
	}
	for _, n := range names {
		if n.Name() == lockName {
			return nil
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("directory %s is not empty and not a data directory of Howdah: choose an empty one", dir)
	}
	return nil
}

// newClusterMB is about what a new database cluster takes, with the schema and some room.
const newClusterMB = 60

// full is the error of a disk that has no space.
func full(dir string) error {
	return fmt.Errorf("there is no space left on the disk of data directory %s: free some (a new one takes about %d MB), or choose a directory on another disk (%w)",
		dir, newClusterMB, syscall.ENOSPC)
}

// saysFull says whether a program of PostgreSQL has met a full disk.
func saysFull(output string) bool {
	return strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded")
}

func notWritable(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return full(dir)
	}
	return fmt.Errorf("data directory %s is not writable: choose another one (%w)", dir, err)
}

func inUse(dir string, f *os.File) error {
	pid, _ := io.ReadAll(io.LimitReader(f, 20))
	if len(pid) == 0 {
		pid = []byte("unknown")
	}
	return fmt.Errorf("data directory %s is in use by process %s: stop it, or choose another data directory", dir, pid)
}

// clusterMajor is the major version that made the cluster, 0 if there is none.
func clusterMajor(pgdata string) (int, error) {
	text, err := os.ReadFile(filepath.Join(pgdata, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("database cluster %s cannot be read: %w", pgdata, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("database cluster %s has no readable PG_VERSION: restore it from a backup, or choose an empty data directory", pgdata)
	}
	return major, nil
}

// maxSocketDir leaves room for "/.s.PGSQL.65535" in the 104 bytes that the
// shortest sockaddr_un (macOS, BSD) has, its final zero included.
const maxSocketDir = 104 - len("/.s.PGSQL.65535.lock") - 1

// socketDirOf is where the Unix socket is: in the data directory, or for one
// with a long path under /tmp.
func socketDirOf(dataDir string, who account) string {
	dir := filepath.Join(dataDir, socketName)
	if len(dir) > maxSocketDir {
		sum := sha256.Sum256([]byte(dataDir))
		dir = fmt.Sprintf("/tmp/howdah-%d-%s", who.uid, hex.EncodeToString(sum[:6]))
	}
	return dir
}

// makeSocketDir makes that directory, which only the account and root can
// enter, and empties it.
func makeSocketDir(dataDir string, who account) (string, error) {
	dir := socketDirOf(dataDir, who)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = who.own(dir)
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("socket directory %s cannot be made: %w", dir, err)
	}
	// All users can write to /tmp: trust an existing directory only if it is ours.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("socket directory %s: %w", dir, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || ok && int(st.Uid) != who.uid {
		return "", fmt.Errorf("socket directory %s is not a directory with mode 0700 of the user that runs PostgreSQL: remove it", dir)
	}
	// A killed server leaves its socket and a lock file with its process id there.
	// No server runs any more; but another process may have that id by now, and
	// then PostgreSQL would refuse to start.
	stale, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*"))
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return "", fmt.Errorf("stale socket cannot be removed: %w", err)
		}
	}
	return dir, nil
}

// readPassword returns the password for TCP, made at the first call.
func readPassword(dataDir string) (string, error) {
	path := filepath.Join(dataDir, passwordName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrExist) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("password file cannot be read: %w", err)
		}
		if p := strings.TrimSpace(string(text)); len(p) >= 20 {
			return p, nil
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return "", fmt.Errorf("password file cannot be written: %w", err)
		}
		return newPassword(f)
	}
	if err != nil {
		return "", fmt.Errorf("password file cannot be made: %w", err)
	}
	return newPassword(f)
}

func newPassword(f *os.File) (string, error) {
	p := rand.Text()
	_, err := f.WriteString(p + "\n")
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return "", fmt.Errorf("password file cannot be written: %w", err)
	}
	return p, nil
}
