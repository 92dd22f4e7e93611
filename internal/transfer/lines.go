package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
)

// LinesOptions say how lines are stored.
type LinesOptions struct {
	Into          string // the cache; "": the one that a line names
	Match, Type   string // as in Options
	Replace       bool   // as in Options
	FromNow       bool   // the time that was left counts from now; else an entry expires when it would have
	DropTags      bool   // entries with tags are stored without them; else they are refused
	DryRun        bool   // nothing is stored
	MaxValueBytes int
	RefusedFile   string
	Progress      func(Counts)
}

// LinesResult is what became of the lines of a file.
type LinesResult struct {
	Counts
	Complete bool // the last line is the end of an export
}

// lineImport is one run of ImportLines.
type lineImport struct {
	db      *core.DB
	o       LinesOptions
	now     func() int64
	targets map[string]*target
	result  LinesResult
	number  int64 // of the line

	// What waits to be stored, of one cache.
	cache   string
	entries []Entry
	lines   []int64
	size    int
}

// ImportLines stores the lines that [Export] has written. A line that cannot be stored is
// refused, and the others are. To do it again after an interruption is safe. Errors: those of
// the database and of in.
func ImportLines(ctx context.Context, db *core.DB, in io.Reader, o LinesOptions) (LinesResult, error) {
	at, err := db.Now(ctx)
	if err != nil {
		return LinesResult{}, err
	}
	i := &lineImport{db: db, o: o, now: clock(at), targets: map[string]*target{}}
	reader := bufio.NewReaderSize(in, 1<<20)
	// A byte of a value is six in the worst case (\u0000), and so is one of a key.
	most := 6*o.MaxValueBytes + 1<<20
	for {
		text, err := readLine(reader, most)
		i.number++
		switch {
		case errors.Is(err, io.EOF) && len(text) == 0:
			return i.result, i.flush(ctx)
		case errors.Is(err, errLongLine):
			err = i.refuse(Refusal{Line: i.number, Reason: reasonSize})
		case err != nil && !errors.Is(err, io.EOF):
			return i.result, errors.Join(err, i.flush(ctx))
		default:
			err = i.line(ctx, text, errors.Is(err, io.EOF))
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return i.result, err
		}
	}
}

var errLongLine = errors.New("line too long")

// readLine returns a line without its end, and io.EOF with one that has none. What is longer
// than most is passed over.
func readLine(r *bufio.Reader, most int) (text []byte, err error) {
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(text)+len(piece) > most; long {
			text = nil
		} else {
			text = append(text, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, errLongLine
		case err == nil:
			return text[:len(text)-1], nil
		default:
			return text, err
		}
	}
}

func (i *lineImport) line(ctx context.Context, text []byte, last bool) error {
	if len(text) == 0 {
		return nil
	}
	l, e, err := parseLine(text, i.now(), i.o.FromNow, i.o.DropTags)
	i.result.Complete = err == nil && l.End
	if i.result.Complete {
		return nil
	}
	i.result.Keys++
	if err == nil {
		if reason := (limits{i.o.MaxValueBytes}).refuse(len(e.Key), e.Kind, int64(len(e.Value))); reason != "" {
			err = errors.New(reason)
		}
	}
	switch {
	case err != nil && last:
		return i.refuse(Refusal{Line: i.number, Reason: "the last line is incomplete: the export was interrupted"})
	case err != nil:
		return i.refuse(i.refusal(l, &e, err.Error()).oversize(limits{i.o.MaxValueBytes}, len(e.Key), e.Kind, int64(len(e.Value))))
	case i.o.Type != "" && l.Type != i.o.Type, i.o.Match != "" && !matches(i.o.Match, e.Key):
		i.result.Skipped++
		return nil
	case e.ExpiresAt != 0 && e.ExpiresAt <= i.now():
		i.result.Gone++
		return nil
	}
	cache := i.o.Into
	if cache == "" {
		cache = l.Cache
	}
	if cache == "" {
		return i.refuse(i.refusal(l, &e, "the line names no cache: give --into"))
	}
	if len(i.entries) > 0 && (cache != i.cache || i.size+e.size() > partBytes || len(i.entries) == 1000) {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	i.cache, i.entries, i.lines, i.size = cache, append(i.entries, e), append(i.lines, i.number), i.size+e.size()
	return nil
}

func (i *lineImport) refusal(l *line, e *Entry, reason string) Refusal {
	r := Refusal{Line: i.number, Reason: reason}
	if l != nil {
		r.Cache, r.Type = l.Cache, l.Type
		r.Key, r.Key64 = textOr64(e.Key)
	}
	return r
}

func (i *lineImport) refuse(list ...Refusal) error {
	i.result.refuse(list)
	return appendRefusals(i.o.RefusedFile, list)
}

// flush stores what waits.
func (i *lineImport) flush(ctx context.Context) error {
	if len(i.entries) == 0 {
		return nil
	}
	entries, lines := i.entries, i.lines
	i.entries, i.lines, i.size = nil, nil, 0
	outcomes := make([]outcome, len(entries))
	if i.o.DryRun {
		for k := range outcomes {
			outcomes[k] = stored
		}
	} else {
		t, err := i.target(ctx, i.cache)
		if err == nil {
			outcomes, err = t.put(context.WithoutCancel(ctx), entries)
		}
		if err != nil {
			return fmt.Errorf("at line %d: %w", lines[0], err)
		}
	}
	for k := range entries {
		e := &entries[k]
		switch outcomes[k] {
		case stored:
			i.result.Stored++
			i.result.Bytes += int64(len(e.Key) + len(e.Value))
		case kept:
			i.result.Kept++
		default:
			r := Refusal{Line: lines[k], Cache: i.cache, Type: e.Kind.String(), Reason: string(outcomes[k])}
			r.Key, r.Key64 = textOr64(e.Key)
			r = r.oversize(limits{i.o.MaxValueBytes}, len(e.Key), e.Kind, int64(len(e.Value)))
			if err := i.refuse(r); err != nil {
				return err
			}
			continue
		}
		i.result.Types = sums(i.result.Types, map[string]int64{e.Kind.String(): 1})
	}
	if i.o.Progress != nil {
		i.o.Progress(i.result.Counts)
	}
	return nil
}

// target returns a cache, which is looked for once.
func (i *lineImport) target(ctx context.Context, name string) (*target, error) {
	if t := i.targets[name]; t != nil {
		return t, nil
	}
	t, _, err := openTarget(ctx, i.db, name, i.o.Replace)
	if errors.Is(err, fault.ErrInvalidName) {
		return nil, fmt.Errorf("%w: give --into", err)
	}
	if err == nil {
		i.targets[name] = t
	}
	return t, err
}
