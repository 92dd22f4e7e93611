package transfer

import (
	"context"
	"encoding/json"
	"io"

	"github.com/howdah/howdah/internal/core"
)

// Exported is what an export has written.
type Exported struct {
	Entries int64
	Tagged  int64 // entries with tags, whose names are not known
}

// Export writes the live entries of a cache whose keys begin with prefix as lines of JSON. What
// is there from the beginning to the end is written once, as it was at a moment between; what is
// stored or removed meanwhile may be missing. A few MiB are in memory at most, and one value.
// Each line is complete by itself, so that what an interrupted export has written can be used;
// the last line of a complete one says that it is. Error: ErrCacheNotFound.
func Export(ctx context.Context, db *core.DB, cache string, prefix []byte, out io.Writer, progress func(Exported)) (done Exported, err error) {
	c := db.Cache(cache)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := c.Scan(ctx, cursor, core.ScanOptions{Count: 1000, Prefix: prefix})
		if err != nil {
			return done, err
		}
		var keys [][]byte
		size := 0
		for i, e := range page {
			keys, size = append(keys, e.Key), size+e.Length
			if i < len(page)-1 && size+page[i+1].Length <= partBytes {
				continue
			}
			if err := writeLines(ctx, c, keys, lines, &done); err != nil {
				return done, err
			}
			keys, size = nil, 0
		}
		cursor = next
		progress(done)
	}
	return done, lines.Encode(line{Cache: cache, End: true, Entries: &done.Entries})
}

// writeLines writes entries.
func writeLines(ctx context.Context, c *core.Cache, keys [][]byte, lines *json.Encoder, done *Exported) error {
	list, err := c.Stored(ctx, keys)
	if err != nil {
		return err
	}
	for i := range list {
		l, err := lineOf(c.Name(), &list[i])
		if err == nil {
			err = lines.Encode(l)
		}
		if err != nil {
			return err
		}
		done.Entries++
		if list[i].Tags > 0 {
			done.Tagged++
		}
	}
	return nil
}
