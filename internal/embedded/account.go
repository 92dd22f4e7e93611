//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system user that PostgreSQL runs as. PostgreSQL
// refuses to run as root.
type account struct {
	name     string
	uid, gid int
	drop     bool // we are root, and processes are started as this account
}

// chooseAccount is the current user, or for root postgres, else nobody.
func chooseAccount(log *slog.Logger) (account, error) {
	if uid := os.Geteuid(); uid != 0 {
		return account{name: strconv.Itoa(uid), uid: uid, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 != nil || err2 != nil || uid == 0 {
			continue
		}
		log.Info("PostgreSQL refuses to run as root; running it as another user", "user", name)
		return account{name: name, uid: uid, gid: gid, drop: true}, nil
	}
	return account{}, errors.New("PostgreSQL refuses to run as root and neither user postgres nor user nobody exists: create a user postgres, or run as an ordinary user")
}

// attributes start a process as the account, in a session of its own: the
// Ctrl-C of a terminal reaches the program only, which stops PostgreSQL in
// order.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// own gives a path that we made to the account.
func (a account) own(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// canReach checks that the account may enter dir. There is nothing to check
// unless root starts processes as another user.
func (a account) canReach(dir string) error {
	if !a.drop {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for d := real; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil {
			return err
		}
		if !a.mayEnter(info) {
			return fmt.Errorf("user %s, whom PostgreSQL runs as when root starts it, cannot enter %s: choose a directory outside it, such as one under /var/lib", a.name, d)
		}
		if d == filepath.Dir(d) {
			return nil
		}
	}
}

func (a account) mayEnter(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := info.Mode().Perm()
	switch {
	case int(st.Uid) == a.uid:
		return mode&0o100 != 0
	case int(st.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
