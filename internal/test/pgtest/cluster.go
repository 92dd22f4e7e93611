package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/howdah/howdah/internal/embedded"
)

// program is the PostgreSQL of this test process, found once.
type program struct {
	once   sync.Once
	binDir string
	err    error
}

var postgres program

// find finds the binaries: those of HOWDAH_TEST_PG_BINDIR, the pinned ones of
// HOWDAH_TEST_PG_VERSION, or those that package embedded chooses.
func (p *program) find(ctx context.Context) (string, error) {
	p.once.Do(func() {
		c := embedded.Config{BinDir: os.Getenv("HOWDAH_TEST_PG_BINDIR")}
		if c.CacheDir, p.err = embedded.DefaultCacheDir(); p.err != nil {
			return
		}
		if v := strings.TrimSpace(os.Getenv("HOWDAH_TEST_PG_VERSION")); v != "" && c.BinDir == "" {
			c.Version, c.Progress = v, func(p embedded.Progress) { fmt.Fprintln(os.Stderr, p) }
			p.binDir, p.err = embedded.Download(ctx, c)
			return
		}
		p.binDir, p.err = embedded.FindBinDir(ctx, c)
	})
	return p.binDir, p.err
}

// placeCluster copies a new cluster into an empty data directory. initdb takes
// a second of CPU time, a copy a tenth of that: the first test process makes
// the cluster and keeps it beside the binaries that are downloaded.
func placeCluster(ctx context.Context, dataDir string) error {
	binDir, err := postgres.find(ctx)
	if err != nil {
		return err
	}
	kept, err := keptCluster(binDir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(kept); errors.Is(err, fs.ErrNotExist) {
		if err := makeCluster(ctx, kept); err != nil {
			return fmt.Errorf("the cluster for tests cannot be made: %w", err)
		}
	}
	return copyTree(filepath.Join(kept, clusterName), filepath.Join(dataDir, clusterName), nil)
}

// keptCluster names the directory of the cluster that these binaries made. A
// PostgreSQL that is installed anew makes another one.
func keptCluster(binDir string) (string, error) {
	cache, err := embedded.DefaultCacheDir()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(filepath.Join(binDir, "postgres"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Append(nil, clusterFormat, os.Geteuid(), binDir, info.Size(), info.ModTime().UnixNano()))
	return filepath.Join(cache, "test-cluster-"+hex.EncodeToString(sum[:8])), nil
}

// clusterFormat changes when package embedded makes clusters otherwise.
const clusterFormat = "1 "

// makeCluster makes a cluster with the role and the database of package
// embedded. It appears complete or not at all; where two processes make it at
// once, the first one's stays.
func makeCluster(ctx context.Context, kept string) error {
	dir, err := directory.newDataDir(ctx)
	if err != nil {
		return err
	}
	server, err := startIn(ctx, dir, "", map[string]string{"fsync": "off"})
	if err != nil {
		return err
	}
	if err := server.Shutdown(ctx, embedded.Fast); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(kept), filepath.Base(kept)+".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := copyTree(filepath.Join(dir, clusterName), filepath.Join(temp, clusterName), nil); err != nil {
		return err
	}
	if err := os.Rename(temp, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return embedded.Remove(ctx, dir)
}
