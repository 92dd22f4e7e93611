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

// freePort asks the kernel for a TCP port that nobody uses now.
func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// DefaultDataDir is where a program keeps its private database unless told
// otherwise: /var/lib/howdah for root, else the user's data folder. It reads
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
