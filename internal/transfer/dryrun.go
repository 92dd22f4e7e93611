package transfer

import (
	"context"
	"errors"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// Survey is what a dry run finds.
type Survey struct {
	Counts          // Stored: what would be, or kept; Bytes: in the source, of values about so
	Large  int64    // collections that are refused for their size
	Absent []string // caches that do not exist yet
	Over   []string // caches whose budget is smaller than what would be stored
}

// DryRun looks at the types and sizes of all keys, and changes nothing. Errors: as Import.
func DryRun(ctx context.Context, db *core.DB, o Options) (Survey, error) {
	r := newRun(db, o)
	conn, _, databases, err := r.source(ctx)
	if err != nil {
		return Survey{}, err
	}
	defer conn.Close()
	var all Survey
	for _, number := range databases {
		reader, err := r.reader(conn, number)
		if err != nil {
			return all, err
		}
		reader.sizes = true
		before := all.Bytes
		if err := r.look(ctx, reader, &all); err != nil {
			return all, err
		}
		cache := r.cacheOf(number)
		standing, err := db.Cache(cache).Standing(ctx)
		switch {
		case errors.Is(err, fault.ErrCacheNotFound):
			all.Absent = append(all.Absent, cache)
		case err != nil:
			return all, err
		case standing.MaxBytes > 0 && all.Bytes-before > standing.MaxBytes:
			all.Over = append(all.Over, cache)
		}
	}
	return all, nil
}

// look counts the keys of a database.
func (r *run) look(ctx context.Context, reader *reader, all *Survey) error {
	pages, stop := r.scan(ctx, reader, "0")
	defer stop()
	for s := range pages {
		if s.err != nil {
			return errors.Join(ctx.Err(), s.err)
		}
		page := Counts{Keys: int64(s.keys), Gone: int64(s.gone), Skipped: int64(s.skipped), Stored: int64(len(s.entries))}
		for _, e := range s.entries {
			page.Bytes += e.bytes + int64(len(e.Key))
			page.Types = sums(page.Types, map[string]int64{e.Kind.String(): 1})
		}
		for _, f := range s.refused {
			if f.Reason == reasonSize && f.Type != values.KindString.String() {
				all.Large++
			}
		}
		page.refuse(s.refused)
		all.add(page)
		r.seen += page.Keys
		if s.end {
			r.progress(all.Counts)
			if err := r.pace(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
