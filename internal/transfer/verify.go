package transfer

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// VerifyOptions say what Verify does about differences.
type VerifyOptions struct {
	Options
	Repair    bool          // keys that are missing or differ are copied
	Delete    bool          // with Repair: keys that the source has not are deleted
	Tolerance time.Duration // by which expiries may differ
}

// Differences are what Verify found.
type Differences struct {
	Keys       int64            `json:"keys"` // that the source has
	Equal      int64            `json:"equal"`
	Missing    int64            `json:"missing"`
	Differ     map[string]int64 `json:"differ"` // by type, value or ttl
	Extra      int64            `json:"extra"`  // keys that the source has not
	Repaired   int64            `json:"repaired"`
	Deleted    int64            `json:"deleted"`
	Refused    map[string]int64 `json:"refused"`         // by reason
	ExtrasSeen bool             `json:"extras_seen"`     // Extra was counted: all keys were asked for
	Named      []Refusal        `json:"named,omitempty"` // the first keys that were refused or are different, at most maxNamed
}

// Different is how many keys are in both, and are not equal.
func (d *Differences) Different() (n int64) {
	for _, count := range d.Differ {
		n += count
	}
	return n
}

// Open is how many differences are left, refused keys among them.
func (d *Differences) Open() int64 {
	n := d.Missing + d.Different() + d.Extra - d.Repaired - d.Deleted
	for _, count := range d.Refused {
		n += count
	}
	return n
}

// verifier is one run of Verify.
type verifier struct {
	*run
	o     VerifyOptions
	found Differences
	cache *core.Cache

	checked int64     // keys of the cache
	open    []Refusal // differences that are not repaired, to be written down
}

// leave notes a difference that is not repaired.
func (v *verifier) leave(key, kind, reason string) {
	r := Refusal{Cache: v.cache.Name(), Type: kind, Reason: reason}
	r.Key, r.Key64 = textOr64(key)
	v.open = append(v.open, r)
}

// writeDown writes refused keys and differences to the file of refusals.
func (v *verifier) writeDown(refused []Refusal) error {
	list := append(refused, v.open...)
	v.found.Named = named(v.found.Named, list)
	v.open = nil
	return appendRefusals(v.o.RefusedFile, list)
}

// Verify compares databases of a Redis server with caches, key by key: type, value and expiry.
// What is written meanwhile may be found different although it is not. A repair does not touch
// a key that somebody writes in the cache at the same time. Errors: as Import.
func Verify(ctx context.Context, db *core.DB, o VerifyOptions) (Differences, error) {
	run := newRun(db, o.Options)
	o.Options = run.o // with the defaults
	v := &verifier{run: run, o: o, found: Differences{Differ: map[string]int64{}, Refused: map[string]int64{}}}
	v.found.ExtrasSeen = o.Match == "" && o.Type == ""
	conn, _, databases, err := v.source(ctx)
	if err != nil {
		return v.found, err
	}
	defer conn.Close()
	for _, number := range databases {
		t, _, err := openTarget(ctx, db, v.cacheOf(number), true)
		if err != nil {
			return v.found, err
		}
		v.cache = t.cache
		reader, err := v.reader(conn, number)
		if err == nil {
			err = v.compare(ctx, reader)
		}
		if err == nil && v.found.ExtrasSeen {
			err = v.extras(ctx, conn)
		}
		if err != nil {
			return v.found, err
		}
	}
	return v.found, nil
}

// compare goes through the keys of the source.
func (v *verifier) compare(ctx context.Context, reader *reader) error {
	pages, stop := v.scan(ctx, reader, "0")
	defer stop()
	for s := range pages {
		if s.err != nil {
			return errors.Join(ctx.Err(), s.err)
		}
		v.found.Keys += int64(s.keys)
		v.seen += int64(s.keys)
		for _, r := range s.refused {
			v.found.Refused[r.Reason]++
		}
		err := v.part(context.WithoutCancel(ctx), s.entries)
		if err == nil {
			err = v.writeDown(s.refused)
		}
		if err != nil {
			return err
		}
		if s.end {
			v.progress(Counts{Keys: v.found.Keys, Stored: v.found.Repaired})
			if err := v.pace(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// part compares entries of the source with those of the cache.
func (v *verifier) part(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	keys := make([][]byte, len(entries))
	for i := range entries {
		keys[i] = []byte(entries[i].Key)
	}
	list, err := v.cache.Stored(ctx, keys)
	if err != nil {
		return err
	}
	there := make(map[string]*core.StoredEntry, len(list))
	for i := range list {
		there[string(list[i].Key)] = &list[i]
	}
	var calls []*verb.Call
	for i := range entries {
		e := &entries[i]
		version, differs, err := v.judge(e, there[e.Key])
		if err != nil {
			return err
		}
		if differs && v.o.Repair {
			calls = append(calls, repairing(e, version))
		}
	}
	return v.repair(ctx, calls, &v.found.Repaired)
}

// repairing is the call that stores an entry in place of one with a version; 0: of none.
func repairing(e *Entry, version int64) *verb.Call {
	call := &verb.Call{Verb: statement.Set, Key: []byte(e.Key), Value: notNil(e.Value), Kind: int16(e.Kind), Expiry: e.expiry(),
		Condition: verb.IfVersion, IfVersion: version}
	if version == 0 {
		call.Condition = verb.IfAbsent
	}
	return call
}

// judge counts how an entry of the source differs from that of the cache, of which it returns
// the version; 0: there is none.
func (v *verifier) judge(e *Entry, found *core.StoredEntry) (version int64, differs bool, err error) {
	tolerance := v.o.Tolerance.Milliseconds()
	if found == nil {
		if e.ExpiresAt != 0 && e.ExpiresAt <= v.now()+tolerance {
			v.found.Equal++ // it has expired in the cache, and is about to in the source
			return 0, false, nil
		}
		v.found.Missing++
		if !v.o.Repair {
			v.leave(e.Key, e.Kind.String(), "missing in the cache")
		}
		return 0, true, nil
	}
	other := Entry{Key: e.Key, Kind: values.Kind(found.Kind), Value: found.Value}
	if !found.ExpiresAt.IsZero() {
		other.ExpiresAt = found.ExpiresAt.UnixMilli()
	}
	how, err := difference(e, &other, tolerance)
	switch {
	case err != nil:
		return 0, false, err
	case how == "":
		v.found.Equal++
		return 0, false, nil
	}
	v.found.Differ[how]++
	if !v.o.Repair {
		v.leave(e.Key, e.Kind.String(), "another "+how+" in the cache")
	}
	return found.Version, true, nil
}

// repair runs calls, and counts those that were done.
func (v *verifier) repair(ctx context.Context, calls []*verb.Call, done *int64) error {
	if len(calls) == 0 {
		return nil
	}
	failed := v.cache.Do(ctx, calls...)
	for _, call := range calls {
		switch outcome, err := outcomeOf(call); {
		case err != nil:
			return err
		case outcome == stored:
			*done++
		}
	}
	if failed != nil && !isRefusal(failed) {
		return failed
	}
	return nil
}

// extras looks for keys of the cache that the source has not.
func (v *verifier) extras(ctx context.Context, conn *Conn) error {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := v.cache.Scan(ctx, cursor, core.ScanOptions{Count: v.o.PageKeys})
		if err != nil {
			return err
		}
		if err := v.extra(context.WithoutCancel(ctx), conn, page); err != nil {
			return err
		}
		cursor = next
		v.checked += int64(len(page))
		v.o.Progress(Progress{Counts: Counts{Keys: v.found.Keys, Stored: v.found.Repaired}, Seen: v.seen, Total: v.total, Checked: v.checked, Elapsed: time.Since(v.began)})
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (v *verifier) extra(ctx context.Context, conn *Conn, page []verb.Entry) error {
	exists := new(batch)
	for i := range page {
		exists.add("EXISTS", string(page[i].Key))
	}
	replies, err := conn.exchange(exists)
	if err != nil {
		return err
	}
	var calls []*verb.Call
	for i, reply := range replies {
		e := &page[i]
		expires := e.TTL != verb.NoExpiry && e.TTL <= v.o.Tolerance
		kind := values.Kind(e.Kind).String()
		switch {
		case expires, reply.Kind == resp.Integer && reply.Int != 0, v.o.OneNode && isElsewhere(reply):
			continue
		case reply.Kind != resp.Integer:
			reason := "whether the source has the key is not known: " + replyText(reply)
			v.found.Refused[reason]++
			v.leave(string(e.Key), kind, reason)
			continue
		}
		v.found.Extra++
		if !v.o.Delete {
			v.leave(string(e.Key), kind, "not in the source")
			continue
		}
		if v.o.Repair {
			calls = append(calls, &verb.Call{Verb: statement.CompareDelete, Key: e.Key, Condition: verb.IfVersion, IfVersion: e.Version})
		}
	}
	if err := v.writeDown(nil); err != nil {
		return err
	}
	return v.repair(ctx, calls, &v.found.Deleted)
}

// isElsewhere reports whether a reply says that another node of a cluster has the key.
func isElsewhere(reply resp.Reply) bool {
	word, _, _ := strings.Cut(string(reply.Str), " ")
	return reply.Kind == resp.Error && (word == "MOVED" || word == "ASK")
}
