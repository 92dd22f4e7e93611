// Package embedded runs a private PostgreSQL for one program: on laptops, in
// demos and in tests.
//
// It uses an installed PostgreSQL 14 or newer, or downloads pinned binaries.
// The server listens on a Unix socket in a directory that only its owner can
// enter, and on loopback TCP only when asked to. It stops with the program:
// Stop ends it in order, and when the program is killed a watchdog does.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

// The oldest and newest major versions of PostgreSQL that are supported.
const (
	OldestMajor = 14
	NewestMajor = 18
)

// Role and Database are what an application uses; Role owns Database and is
// not a superuser. SuperRole is the bootstrap superuser.
const (
	Role      = "howdah"
	Database  = "howdah"
	SuperRole = "postgres"
)

// ErrNotRunning is the error of Running for a data directory in which no server
// accepts connections.
var ErrNotRunning = errors.New("no embedded PostgreSQL is running")

// Config says where the server lives and which PostgreSQL it is.
type Config struct {
	// DataDir holds the cluster (pg), the socket directory (run), the lock
	// file and the password. It is made when absent. Required.
	DataDir string

	// CacheDir holds downloaded binaries. Default: DataDir/cache.
	CacheDir string

	// BinDir is a directory that holds initdb and postgres. "" means: find an
	// installed PostgreSQL, else download one.
	BinDir string

	// Version is the wanted major version, such as "17". "" means that of an
	// existing DataDir, else the newest that is installed, else the newest
	// pinned one.
	Version string

	// Listen is a loopback TCP address such as "127.0.0.1:0"; port 0 picks a
	// free one. "" means the Unix socket only.
	Listen string

	// Settings are PostgreSQL settings that win over all others.
	Settings map[string]string

	// Repository is the Maven repository to download from. Default:
	// DefaultRepository. The hashes stay those that are pinned.
	Repository string

	// Logger receives the server's messages. Default: none are kept.
	Logger *slog.Logger

	// Progress is told what the start does, before each step that may take
	// long, and again and again during a download. Default: nobody is.
	Progress func(Progress)
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// complete checks c and fills in its defaults.
func (c *Config) complete() error {
	if c.DataDir == "" {
		return errors.New("no data directory is given: set Config.DataDir")
	}
	var err error
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return fmt.Errorf("data directory %s: %w", c.DataDir, err)
	}
	if c.CacheDir == "" {
		c.CacheDir = filepath.Join(c.DataDir, "cache")
	}
	if c.Repository == "" {
		c.Repository = DefaultRepository
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if _, err := c.major(); err != nil {
		return err
	}
	for name := range c.Settings {
		if !settingName.MatchString(name) {
			return fmt.Errorf("%q is not the name of a PostgreSQL setting", name)
		}
	}
	if c.Listen != "" {
		addr, err := netip.ParseAddrPort(c.Listen)
		if err != nil {
			return fmt.Errorf("listen address %q is not of the form 127.0.0.1:5432", c.Listen)
		}
		if !addr.Addr().IsLoopback() {
			return fmt.Errorf("listen address %q is not loopback: the private PostgreSQL serves this machine only", c.Listen)
		}
	}
	return nil
}

// major is the wanted major version, 0 for any.
func (c *Config) major() (int, error) {
	if c.Version == "" {
		return 0, nil
	}
	major, err := strconv.Atoi(c.Version)
	if err != nil || major < OldestMajor {
		return 0, fmt.Errorf("PostgreSQL version %q is not supported: give a major version from %d on, such as %d", c.Version, OldestMajor, NewestMajor)
	}
	return major, nil
}

// freePort asks the kernel for a TCP port that is not in use now.
func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// DefaultDataDir is where a program keeps its private database by default: /var/lib/howdah for root, else the user's data folder. It reads
// the environment (HOME, XDG_DATA_HOME); nothing else in this package does
// but DefaultCacheDir and the search for binaries in PATH.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/howdah", nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "howdah"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("no home directory is known: choose a data directory with --data-dir")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "howdah"), nil
	}
	return filepath.Join(home, ".local", "share", "howdah"), nil
}

// DefaultCacheDir is where downloads are kept: /var/cache/howdah for root,
// else the user's cache folder.
func DefaultCacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/howdah", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("no cache directory is known: set HOME or XDG_CACHE_HOME")
	}
	return filepath.Join(dir, "howdah"), nil
}
