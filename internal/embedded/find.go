//go:build unix

package embedded

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// installation is a directory of PostgreSQL's programs.
type installation struct {
	dir   string
	major int
}

// FindBinDir returns the directory of the programs that Start would run in an
// empty data directory: c.BinDir, else that of an installed PostgreSQL, else
// that of a downloaded one, for which c.CacheDir is required.
func FindBinDir(ctx context.Context, c Config) (string, error) {
	found, err := binaries(ctx, c, 0)
	return found.dir, err
}

// binaries chooses the PostgreSQL to run: BinDir, else an installed one of the
// wanted version, else a pinned download. existing is the version of the
// cluster that is there, 0 if there is none.
func binaries(ctx context.Context, c Config, existing int) (installation, error) {
	if c.BinDir != "" {
		return inspect(ctx, c.BinDir)
	}
	want, err := c.major()
	if err != nil {
		return installation{}, err
	}
	if want == 0 {
		want = existing
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.Progress(Progress{Doing: "looking for an installed PostgreSQL"})
	found := newest(installed(ctx), want)
	if err := cutShort(ctx); err != nil || found.dir != "" {
		return found, err
	}
	dir, err := Download(ctx, Config{
		CacheDir: c.CacheDir, Version: versionText(want),
		Repository: c.Repository, Progress: c.Progress, Logger: c.Logger,
	})
	if err != nil {
		return installation{}, notFound(want, err)
	}
	return inspect(ctx, dir)
}

// cutShort is the error of a search whose time ended: the programs that it asked were
// killed, which says nothing about them.
func cutShort(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the search for PostgreSQL was cut short: %w", err)
	}
	return nil
}

func versionText(major int) string {
	if major == 0 {
		return ""
	}
	return strconv.Itoa(major)
}

// newest picks the first one of the wanted major version, or for 0 the newest
// of the supported ones.
func newest(all []installation, want int) installation {
	var best installation
	for _, i := range all {
		fits := i.major == want || want == 0 && i.major <= NewestMajor
		if fits && i.major > best.major {
			best = i
		}
	}
	return best
}

// installed lists what is found where PostgreSQL is usually installed.
func installed(ctx context.Context) []installation {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A distribution may link it from elsewhere; its neighbours are there.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	if path, err := exec.LookPath("pg_config"); err == nil {
		if out, err := exec.CommandContext(ctx, path, "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
		"/usr/lib/postgresql*/bin",                           // openSUSE, Arch, Gentoo
		"/usr/libexec/postgresql*",                           // Alpine
		"/usr/pgsql-*/bin",                                   // Red Hat, by postgresql.org
		"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on arm64
		"/usr/local/opt/postgresql@*/bin",                    // Homebrew on amd64
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",    // Homebrew on Linux
		"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
		"/Library/PostgreSQL/*/bin",                          // EDB's installer
		"/usr/local/pgsql/bin",                               // built from source
	} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	var all []installation
	seen := map[string]bool{}
	for _, dir := range dirs {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if i, err := inspect(ctx, dir); err == nil {
			all = append(all, i)
		}
	}
	return all
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// inspect checks that dir holds what is needed and asks for its version.
func inspect(ctx context.Context, dir string) (installation, error) {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return installation{}, fmt.Errorf("%s holds no %s program: give the bin directory of a PostgreSQL server", dir, name)
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").CombinedOutput()
	if err := cutShort(ctx); err != nil {
		return installation{}, err
	}
	if err != nil {
		return installation{}, fmt.Errorf("%s does not run here: %w: %s", filepath.Join(dir, "postgres"), err, lastLines(string(out), 2))
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return installation{}, fmt.Errorf("%s is not PostgreSQL: it says %q", filepath.Join(dir, "postgres"), lastLines(string(out), 1))
	}
	major, _ := strconv.Atoi(string(m[1]))
	if major < OldestMajor {
		return installation{}, fmt.Errorf("%s is PostgreSQL %d: %d or newer is needed", dir, major, OldestMajor)
	}
	return installation{dir: dir, major: major}, nil
}
