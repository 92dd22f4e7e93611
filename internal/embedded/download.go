//go:build unix

package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Download makes sure that CacheDir holds the pinned binaries of Version ("" is
// the newest) and returns their bin directory. Processes that want the same at
// once wait for the first of them. Nothing is unpacked before its hash is
// verified, and the directory appears complete or not at all.
func Download(ctx context.Context, c Config) (binDir string, err error) {
	major, err := c.major()
	if err != nil {
		return "", err
	}
	p, err := pinned(major)
	if err != nil {
		return "", err
	}
	if err := checkLibc(); err != nil {
		return "", err
	}
	if c.CacheDir == "" {
		return "", errors.New("no cache directory is given: set Config.CacheDir")
	}
	return newFetcher(c, p).ensure(ctx)
}

// checkLibc: the pinned binaries for Linux are linked with glibc.
func checkLibc() error {
	musl, _ := filepath.Glob("/lib/ld-musl-*.so.1")
	glibc, _ := filepath.Glob("/lib*/ld-linux-*.so.*")
	if len(musl) > 0 && len(glibc) == 0 {
		return errors.New("the PostgreSQL that can be downloaded needs glibc, and this system has musl")
	}
	return nil
}

// fetcher brings one pinned archive into the cache.
type fetcher struct {
	pin      pin
	url      string
	dir      string // the cache
	name     string // of the result, inside dir
	progress func(Progress)
	log      *slog.Logger
	stall    time.Duration // without a byte for so long, an attempt is given up
}

const attempts = 3

// maxArchive bounds what a wrong server can make us write.
const maxArchive = 256 << 20

func newFetcher(c Config, p pin) *fetcher {
	repository := c.Repository
	if repository == "" {
		repository = DefaultRepository
	}
	file := "embedded-postgres-binaries-" + p.artifact
	f := &fetcher{
		pin: p,
		url: fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar",
			strings.TrimRight(repository, "/"), file, p.version, file, p.version),
		dir:      c.CacheDir,
		name:     fmt.Sprintf("postgresql-%s-%s", p.version, p.artifact),
		progress: c.Progress,
		log:      c.Logger,
		stall:    30 * time.Second,
	}
	if f.progress == nil {
		f.progress = func(Progress) {}
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f
}

func (f *fetcher) ensure(ctx context.Context) (string, error) {
	target := filepath.Join(f.dir, f.name)
	bin := filepath.Join(target, "bin")
	if err := f.openCache(); err != nil {
		return "", err
	}
	if isDir(bin) {
		return bin, nil
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(bin) { // another process was first
		return bin, nil
	}
	archive := target + ".jar.part"
	if err := f.fetch(ctx, archive); err != nil {
		return "", err
	}
	defer os.Remove(archive)
	temp := target + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return "", fmt.Errorf("cache directory %s: %w", f.dir, err)
	}
	f.progress(Progress{Doing: "unpacking PostgreSQL " + f.pin.version + " to " + f.dir})
	if err := unpack(archive, temp); err != nil {
		os.RemoveAll(temp)
		return "", fmt.Errorf("%s cannot be unpacked: %w", f.url, err)
	}
	if err := os.Rename(temp, target); err != nil {
		os.RemoveAll(temp)
		return "", fmt.Errorf("cache directory %s: %w", f.dir, err)
	}
	f.log.Info("downloaded PostgreSQL", "version", f.pin.version, "directory", target)
	return bin, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openCache makes the cache directory. Programs are run from it, so it must
// not be another user's; and the user that PostgreSQL runs as must read it.
func (f *fetcher) openCache() error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("cache directory %s cannot be made: choose another one (%w)", f.dir, err)
	}
	info, err := os.Stat(f.dir)
	if err != nil {
		return fmt.Errorf("cache directory %s: %w", f.dir, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("cache directory %s belongs to another user (uid %d): choose another one", f.dir, st.Uid)
	}
	return nil
}

// lock waits its turn. The kernel frees the lock of a process that dies.
func (f *fetcher) lock(ctx context.Context) (unlock func(), err error) {
	path := filepath.Join(f.dir, f.name+".lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cache directory %s is not writable: choose another one (%w)", f.dir, err)
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			file.Close()
			return nil, fmt.Errorf("cache directory %s cannot be locked: %w", f.dir, err)
		}
		if first {
			f.progress(Progress{Doing: "waiting for another process that downloads PostgreSQL to " + f.dir})
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("another process is downloading PostgreSQL to %s: %w", f.dir, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// fetch downloads the archive to path and verifies it. What an earlier attempt
// or process left there is continued.
func (f *fetcher) fetch(ctx context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("cache directory %s is not writable: choose another one (%w)", f.dir, err)
	}
	defer file.Close()
	for attempt := 1; ; attempt++ {
		err = f.attempt(ctx, file)
		var permanent permanentError
		if err == nil || ctx.Err() != nil || attempt == attempts || errors.As(err, &permanent) {
			break
		}
		f.log.Warn("the download of PostgreSQL failed, trying again", "error", err)
		select {
		case <-time.After(time.Duration(attempt) * 500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	var bad hashError
	if errors.As(err, &bad) {
		os.Remove(path) // the next try begins anew
	}
	return err
}

// permanentError is not worth another attempt.
type permanentError struct{ error }

// hashError says that a complete download is not what was pinned.
type hashError struct{ got, want string }

func (e hashError) Error() string {
	return fmt.Sprintf("its SHA-256 is %s, but %s is pinned: it was damaged or replaced on the way, and is not used", e.got, e.want)
}

func (f *fetcher) attempt(ctx context.Context, file *os.File) error {
	sum := sha256.New()
	have, err := rehash(file, sum)
	if err != nil {
		return permanentError{err}
	}
	if hex.EncodeToString(sum.Sum(nil)) == f.pin.sha256 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(f.stall, func() {
		cancel(fmt.Errorf("no data for %s", f.stall))
	})
	defer timer.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return permanentError{err}
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	// A client of its own leaves no idle connection behind.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) {
			err = outer.Err // the URL is long
		}
		return fmt.Errorf("%s cannot be reached: %w", req.URL.Host, withCause(ctx, err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK, http.StatusRequestedRangeNotSatisfiable:
		sum.Reset()
		have = 0
		if err := restart(file); err != nil {
			return permanentError{err}
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New("the server refused to continue the download")
		}
	default:
		err := fmt.Errorf("%s answers %s", f.url, resp.Status)
		if resp.StatusCode < 500 {
			return permanentError{err}
		}
		return err
	}
	total := have + resp.ContentLength
	if resp.ContentLength < 0 {
		total = 0
	}
	meter := &meter{tell: f.progress, at: Progress{Doing: "downloading PostgreSQL " + f.pin.version + " from " + req.URL.Host, Done: have, Total: total}}
	f.progress(meter.at)
	body := io.TeeReader(&reviver{resp.Body, timer, f.stall}, meter)
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, maxArchive-have))
	if err != nil {
		return withCause(ctx, err)
	}
	if total > 0 && have+n < total {
		return io.ErrUnexpectedEOF
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.pin.sha256 {
		return permanentError{fmt.Errorf("%s is refused: %w", f.url, hashError{got, f.pin.sha256})}
	}
	return nil
}

func (e permanentError) Unwrap() error { return e.error }

// withCause replaces "context canceled" by why it was.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// rehash feeds what is there to sum and leaves the file at its end.
func rehash(file *os.File, sum hash.Hash) (int64, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(sum, file)
}

func restart(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// reviver puts the stall timer off whenever bytes arrive.
type reviver struct {
	from  io.Reader
	timer *time.Timer
	stall time.Duration
}

func (r *reviver) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.timer.Reset(r.stall)
	}
	return n, err
}

// notFound turns a failed search and a failed download into the one sentence
// that says what to do.
func notFound(want int, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	what := fmt.Sprintf("PostgreSQL %d or newer", OldestMajor)
	if want != 0 {
		what = fmt.Sprintf("PostgreSQL %d", want)
	}
	return fmt.Errorf("no %s is installed and it cannot be downloaded (%w): install %s (Debian, Ubuntu: apt install postgresql; Alpine: apk add postgresql17; macOS: brew install postgresql@17), or pass --database-url", what, err, what)
}
