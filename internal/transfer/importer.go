package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// importer is one import.
type importer struct {
	*run
	state   *state
	targets []*target
	counts  Counts
	waiting []checkpoint
	crashes int64 // of PostgreSQL, before this one began
	renewed bool  // Options.Restart was obeyed
}

// checkpoint is a state that may be saved when PostgreSQL has its log on disk so far.
type checkpoint struct {
	state   []byte
	written int64
}

// errLost says that the last batches may not be in the cache any more.
var errLost = errors.New("PostgreSQL crashed, or a cache was dropped, since the last batch")

// once goes on from the state until the end, or an error.
func (i *importer) once(ctx context.Context) error {
	conn, server, databases, err := i.source(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := i.prepare(ctx, server, databases); err != nil {
		return err
	}
	for n := range i.state.Databases {
		if i.state.Databases[n].Done {
			continue
		}
		reader, err := i.reader(conn, i.state.Databases[n].Number)
		if err == nil {
			err = i.copy(ctx, reader, n)
		}
		if err != nil {
			return err
		}
	}
	return i.finish(ctx)
}

// prepare opens the caches and finds out where to go on.
func (i *importer) prepare(ctx context.Context, server Server, databases []int) error {
	i.targets, i.waiting = nil, nil
	i.state = &state{Format: stateFormat, Source: i.o.Source.String(), RunID: server.RunID, Started: time.Now().UTC(),
		Options: choice{Match: i.o.Match, Type: i.o.Type, Replace: i.o.Replace}}
	old, err := i.former()
	if err != nil {
		return err
	}
	if old != nil && i.o.Databases == nil { // those that had keys at the beginning
		databases = old.numbers()
	}
	for n, number := range databases {
		t, standing, err := openTarget(ctx, i.db, i.cacheOf(number), i.o.Replace)
		if err != nil {
			return err
		}
		if n == 0 {
			i.crashes = standing.Crashes
		}
		i.targets = append(i.targets, t)
		i.state.Databases = append(i.state.Databases, databaseState{Number: number, Cache: i.cacheOf(number), Life: standing.Life, Cursor: "0"})
	}
	if old != nil {
		err = i.goOn(old)
	}
	i.counts = i.state.Counts
	return err
}

// former returns the state of an import that this one may go on with; nil: it begins.
func (i *importer) former() (*state, error) {
	if i.o.Restart && !i.renewed {
		// The old state goes first: whoever goes on before the first page is saved would take it.
		if err := removeFile(i.o.StateFile); err != nil {
			return nil, usef("cannot begin again: %w", err)
		}
		i.renewed = true
		return nil, nil
	}
	old, err := loadState(i.o.StateFile)
	switch {
	case err != nil:
		return nil, usef("%w", err)
	case old == nil:
		return nil, nil
	case old.Source != i.state.Source:
		return nil, i.misfit("is of an import from " + old.Source)
	case old.Options != i.state.Options:
		return nil, i.misfit("is of an import with other options (--match, --type, --replace)")
	case old.RunID == "" || old.RunID != i.state.RunID:
		why := "the source was restarted since"
		if i.state.RunID == "" {
			why = "the source does not tell (run_id in INFO) whether it was restarted since"
		}
		i.say("%s, so its cursor means nothing any more: the scan begins again. Keys that are in the cache already are %s", why, keptOrReplaced(i.o.Replace))
		return nil, nil
	}
	return old, nil
}

func (i *importer) misfit(reason string) error {
	return usef("%s %s: name another file with --state, or begin again with --restart", i.o.StateFile, reason)
}

// goOn takes over a state, if the caches are still those that it was made with.
func (i *importer) goOn(old *state) error {
	same := func(a, b databaseState) bool { return a.Number == b.Number && a.Cache == b.Cache }
	there := func(a, b databaseState) bool { return a.Life.Database == b.Life.Database }
	lives := func(a, b databaseState) bool { return a.Life == b.Life }
	switch fresh := i.state.Databases; {
	case !slices.EqualFunc(old.Databases, fresh, same):
		return i.misfit("is of an import of other databases, or into another cache")
	case !slices.EqualFunc(old.Databases, fresh, there):
		return i.misfit("is of an import into another PostgreSQL database")
	case !slices.EqualFunc(old.Databases, fresh, lives):
		i.say("a cache has lost what was copied to it, because PostgreSQL crashed or the cache was dropped: beginning again")
		return nil
	}
	i.state.Databases, i.state.Counts, i.state.Started = old.Databases, old.Counts, old.Started
	i.say("going on from %s: %d keys were done by %s. Some of the next may have been copied already, and then count twice or as kept",
		i.o.StateFile, old.Counts.Keys, old.Saved.Local().Format(time.DateTime))
	return nil
}

func keptOrReplaced(replace bool) string {
	if replace {
		return "replaced"
	}
	return "kept, also where the source has changed them: --verify --repair finds those"
}

// copy copies a database from its cursor on.
func (i *importer) copy(ctx context.Context, reader *reader, n int) error {
	pages, stop := i.scan(ctx, reader, i.state.Databases[n].Cursor)
	defer stop()
	// What is in flight is stored and noted, also when the caller wants to stop.
	storing := context.WithoutCancel(ctx)
	page, refused := Counts{}, []Refusal(nil)
	for s := range pages {
		if s.err != nil {
			return errors.Join(ctx.Err(), s.err)
		}
		if err := i.o.at(afterRead); err != nil {
			return err
		}
		if !s.end {
			more, err := i.store(storing, n, s.part, &page)
			if err != nil {
				return err
			}
			refused = append(refused, more...)
			continue
		}
		page.Keys = int64(s.keys)
		i.seen += page.Keys
		i.state.Counts.add(page)
		i.state.Databases[n].Cursor, i.state.Databases[n].Done = s.next, s.next == "0"
		if err := i.note(storing, n, refused); err != nil {
			return err
		}
		page, refused = Counts{}, nil
		i.counts = i.state.Counts
		i.progress(i.counts)
		if err := i.pace(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// store puts a part into the cache and counts it.
func (i *importer) store(ctx context.Context, n int, p part, page *Counts) (refused []Refusal, err error) {
	outcomes, err := i.targets[n].put(ctx, p.entries)
	if err != nil {
		return nil, err
	}
	refused = p.refused
	for k := range p.entries {
		e := &p.entries[k]
		switch outcomes[k] {
		case stored:
			page.Stored++
			page.Bytes += int64(len(e.Key) + len(e.Value))
		case kept:
			page.Kept++
		default:
			f := Refusal{Cache: i.state.Databases[n].Cache, Type: e.Kind.String(), Reason: string(outcomes[k])}
			f.Key, f.Key64 = textOr64(e.Key)
			f = f.oversize(limits{i.o.MaxValueBytes}, len(e.Key), e.Kind, int64(len(e.Value)))
			refused = append(refused, f)
			continue // counted with the refusals
		}
		page.Types = sums(page.Types, map[string]int64{e.Kind.String(): 1})
	}
	page.Gone += int64(p.gone)
	page.Skipped += int64(p.skipped)
	page.refuse(refused)
	return refused, i.o.at(afterCommit)
}

// note saves the state of a page that was committed, as soon as a crash of PostgreSQL would
// keep the page.
func (i *importer) note(ctx context.Context, n int, refused []Refusal) error {
	if err := appendRefusals(i.o.RefusedFile, refused); err != nil {
		return err
	}
	standing, err := i.targets[n].cache.Standing(ctx)
	if err != nil {
		return err
	}
	if i.lost(n, standing) {
		return errLost
	}
	if err := i.o.at(beforeSave); err != nil {
		return err
	}
	text, err := i.state.encode()
	if err != nil {
		return err
	}
	if !standing.Async {
		standing.Written, standing.Flushed = 0, 0
	}
	i.waiting = append(i.waiting, checkpoint{text, standing.Written})
	return i.saveFlushed(standing.Flushed)
}

// lost reports whether the cache may have lost batches that are not in the saved state.
func (i *importer) lost(n int, standing core.Standing) bool {
	return standing.Life != i.state.Databases[n].Life || standing.Crashes != i.crashes
}

// saveFlushed saves the last state that PostgreSQL has on disk.
func (i *importer) saveFlushed(flushed int64) error {
	n := 0
	for n < len(i.waiting) && i.waiting[n].written <= flushed {
		n++
	}
	if n == 0 {
		return nil
	}
	last := i.waiting[n-1]
	i.waiting = i.waiting[n:]
	if err := replaceFile(i.o.StateFile, last.state); err != nil {
		return fmt.Errorf("cannot save the state of the import: %w", err)
	}
	return i.o.at(afterSave)
}

// finish waits until everything is on disk, and removes the state.
func (i *importer) finish(ctx context.Context) error {
	for n, t := range i.targets {
		for {
			standing, err := t.cache.Standing(ctx)
			if err != nil {
				return err
			}
			if i.lost(n, standing) {
				return errLost
			}
			if err := i.saveFlushed(standing.Flushed); err != nil {
				return err
			}
			if len(i.waiting) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return removeFile(i.o.StateFile) // there is none if there was nothing to copy
}

// appendRefusals adds lines to the file of refusals.
func appendRefusals(file string, list []Refusal) error {
	if len(list) == 0 || file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, r := range list {
		if err = lines.Encode(r); err != nil {
			break
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}
