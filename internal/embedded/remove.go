//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// Remove deletes a data directory and everything in it, and stops a server
// that was left behind there. One that is in use is refused.
func Remove(ctx context.Context, dataDir string) error {
	if _, err := os.Stat(dataDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	log := slog.New(slog.DiscardHandler)
	who, err := chooseAccount(log)
	if err != nil {
		return err
	}
	held, err := claimDataDir(dataDir, who)
	if err != nil {
		return err
	}
	defer held.release()
	if err := stopOrphan(ctx, filepath.Join(dataDir, clusterName), log); err != nil {
		return err
	}
	if dir := socketDirOf(dataDir, who); filepath.Dir(dir) != dataDir {
		os.RemoveAll(dir)
	}
	if err := os.RemoveAll(dataDir); err != nil {
		return fmt.Errorf("data directory %s cannot be removed: %w", dataDir, err)
	}
	return nil
}
