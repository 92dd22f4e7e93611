package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// Exported is what an export has written.
type Exported struct {
	Entries int64
	Tagged  int64 // entries with tags, whose names are not known
}

// Form is what an export is written as.
type Form string

const (
	Lines    Form = "jsonl" // lines of JSON
	Commands Form = "resp"  // commands that store the entries in a Redis server
)

// ExportOptions say what is exported, and how.
type ExportOptions struct {
	Cache    string
	Prefix   []byte // of keys
	Form     Form
	Progress func(Exported)
}

// Export writes the live entries of a cache. What is there from the beginning to the end is written
// once, as it was at a moment between; what is stored or removed meanwhile may be missing. A few MiB
// are in memory at most, and one value. Each entry is complete by itself, so that what an interrupted
// export has written can be used; the last line of JSON of a complete one says that it is. Error:
// ErrCacheNotFound.
func Export(ctx context.Context, db *core.DB, o ExportOptions, out io.Writer) (done Exported, err error) {
	c := db.Cache(o.Cache)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	write := func(e *core.StoredEntry) error {
		l, err := lineOf(c.Name(), e)
		if err != nil {
			return err
		}
		return lines.Encode(l)
	}
	if o.Form == Commands {
		write = func(e *core.StoredEntry) error { return writeCommand(out, c.Name(), e) }
	}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := c.Scan(ctx, cursor, core.ScanOptions{Count: 1000, Prefix: o.Prefix})
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
			if err := writeEntries(ctx, c, keys, write, &done); err != nil {
				return done, err
			}
			keys, size = nil, 0
		}
		cursor = next
		o.Progress(done)
	}
	if o.Form == Commands {
		return done, nil
	}
	return done, lines.Encode(line{Cache: o.Cache, End: true, Entries: &done.Entries})
}

// writeEntries writes entries by their keys.
func writeEntries(ctx context.Context, c *core.Cache, keys [][]byte, write func(*core.StoredEntry) error, done *Exported) error {
	list, err := c.Stored(ctx, keys)
	if err != nil {
		return err
	}
	for i := range list {
		if err := write(&list[i]); err != nil {
			return err
		}
		done.Entries++
		if list[i].Tags > 0 {
			done.Tagged++
		}
	}
	return nil
}

// writeCommand writes the command that stores an entry in Redis, in place of one that is there. Its expiry is
// a time, so that it does not matter when the command runs.
func writeCommand(out io.Writer, cache string, e *core.StoredEntry) error {
	at := ""
	if !e.ExpiresAt.IsZero() {
		at = strconv.FormatInt(max(1, e.ExpiresAt.UnixMilli()), 10)
	}
	if values.Kind(e.Kind) == values.KindString {
		args := []string{"SET", string(e.Key), string(e.Value)}
		if at != "" {
			args = append(args, "PXAT", at)
		}
		_, err := out.Write(resp.AppendCommand(nil, args...))
		return err
	}
	value, err := values.Decode(values.Kind(e.Kind), e.Value)
	if err != nil {
		return fmt.Errorf("key %.100q of cache %s: %w", e.Key, cache, err)
	}
	args := []string{"RESTORE", string(e.Key), cmp.Or(at, "0"), string(values.Dump(value)), "REPLACE"}
	if at != "" {
		args = append(args, "ABSTTL")
	}
	_, err = out.Write(resp.AppendCommand(nil, args...))
	return err
}
