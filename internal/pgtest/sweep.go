package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/howdah/howdah/internal/embedded"
)

// The directories of test servers are under /tmp whatever TMPDIR says: the
// path of a Unix socket is short.
const (
	base   = "/tmp"
	prefix = "howdah-test-"
)

// sweep removes what test processes that were killed have left behind. A
// directory in use is locked, and one younger than a minute may be on its way
// to that.
func sweep(ctx context.Context) {
	left, _ := filepath.Glob(filepath.Join(base, prefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		_ = embedded.Remove(ctx, dir) // in use, or somebody else's
	}
}
