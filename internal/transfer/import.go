package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// Options say what is copied from a Redis server, and how.
type Options struct {
	Source    Address
	Databases []int  // of the source; nil: all that have keys
	Into      string // the cache, of one database; "": db<number>, of each
	OneNode   bool   // the source may be a node of a cluster, whose keys alone are copied

	Match string // a pattern of keys, as SCAN has; "": all
	Type  string // only keys of this type; "": all

	Replace       bool // keys that the cache has already are replaced; else they are kept
	MaxValueBytes int  // of a string; larger ones are refused
	PageKeys      int  // about how many keys are committed together. Default 1000
	Rate          int  // keys a second, at most; 0: any

	StateFile   string // where an import goes on after an interruption
	Restart     bool   // the state is not used
	RefusedFile string // gets a line of JSON for each key that was refused

	Say      func(format string, args ...any) // what a person must know; nil: not said
	Progress func(Progress)                   // after each page; nil: not called

	// at is called at each step of an import; its error ends the import as a crash would.
	// For tests.
	at func(step) error
}

// Progress is how far a transfer is.
type Progress struct {
	Counts
	Seen    int64 // keys, since this call
	Total   int64 // about how many keys there are; 0: not known
	Checked int64 // keys of the cache that Verify has looked for in the source, which is its last part
	Elapsed time.Duration
}

// step is a moment at which an import can be interrupted.
type step string

const (
	afterRead   step = "read"
	afterCommit step = "commit"
	beforeSave  step = "save"
	afterSave   step = "saved"
)

// failuresInARow is how often an import fails without progress until it gives up.
const failuresInARow = 5

// ErrUse is wrapped by errors that other options would avoid.
var ErrUse = errors.New("other options are needed")

// useError is an ErrUse whose text says which.
type useError struct{ error }

func (useError) Is(target error) bool { return target == ErrUse }

func (e useError) Unwrap() error { return e.error }

func usef(format string, args ...any) error { return useError{fmt.Errorf(format, args...)} }

// Import copies databases of a Redis server to caches. It reads with SCAN, so that every key
// that is there from the beginning to the end is copied; of those that are written meanwhile
// the cache has one of their values, or none: Verify finds them. When ctx ends it stops after
// the batch in flight. Errors: ErrUse, ErrSource, those of the database; after all of them the
// same call goes on where it was.
func Import(ctx context.Context, db *core.DB, o Options) (Counts, error) {
	i := &importer{run: newRun(db, o)}
	for failures := 1; ; failures++ {
		seen := i.seen
		err := i.once(ctx)
		if i.seen > seen {
			failures = 1
		}
		if !isPassing(err) || i.seen == 0 || ctx.Err() != nil || failures >= failuresInARow {
			return i.counts, err
		}
		pause := time.Second << failures
		i.say("%v; going on in %v", err, pause)
		select {
		case <-ctx.Done():
			return i.counts, err
		case <-time.After(pause):
		}
	}
}

// run is what the transfers from Redis have in common.
type run struct {
	db    *core.DB
	o     Options
	began time.Time
	now   func() int64 // the clock of the database
	total int64
	seen  int64 // keys
}

func newRun(db *core.DB, o Options) *run {
	if o.PageKeys == 0 {
		o.PageKeys = 1000
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if o.at == nil {
		o.at = func(step) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return &run{db: db, o: o, began: time.Now()}
}

func (r *run) say(format string, args ...any) { r.o.Say(format, args...) }

// source connects to the source and says which databases are copied. Error: ErrUse.
func (r *run) source(ctx context.Context) (*Conn, Server, []int, error) {
	at, err := r.db.Now(ctx)
	if err != nil {
		return nil, Server{}, nil, err
	}
	r.now = clock(at)
	address := r.o.Source
	address.Database = 0
	conn, err := Dial(ctx, address)
	if err != nil {
		return nil, Server{}, nil, err
	}
	// To be copied is no use of a key. Servers before 7.2 do not know it, and need not.
	_, err = conn.exchange(new(batch).add("CLIENT", "NO-TOUCH", "ON").add("CLIENT", "SETNAME", "howdah"))
	var server Server
	var databases []int
	if err == nil {
		server, databases, err = r.survey(conn)
	}
	if err != nil {
		conn.Close()
	}
	return conn, server, databases, err
}

func (r *run) survey(conn *Conn) (Server, []int, error) {
	server, err := conn.Describe()
	if err != nil {
		return server, nil, err
	}
	if server.Cluster && !r.o.OneNode {
		return server, nil, usef("the source is a node of a cluster, which has a part of the keys: give --one-node, and import from each primary of the cluster in turn")
	}
	databases := slices.Clone(r.o.Databases)
	if databases == nil {
		for number := range server.Keys {
			databases = append(databases, number)
		}
	}
	slices.Sort(databases)
	if r.o.Into != "" && len(databases) > 1 {
		return server, nil, usef("several databases do not go into one cache: give --into with one database")
	}
	r.total = 0
	for _, number := range databases {
		r.total += server.Keys[number]
	}
	return server, databases, nil
}

// cacheOf is the cache of a database.
func (r *run) cacheOf(database int) string {
	if r.o.Into != "" {
		return r.o.Into
	}
	return "db" + strconv.Itoa(database)
}

// reader returns a reader of a database, which is selected.
func (r *run) reader(conn *Conn, database int) (*reader, error) {
	err := conn.selects(database)
	return &reader{conn: conn, cache: r.cacheOf(database), limits: limits{r.o.MaxValueBytes}, only: r.o.Type, now: r.now}, err
}

// pace waits while more keys were seen than the rate allows.
func (r *run) pace(ctx context.Context) error {
	if r.o.Rate > 0 {
		due := r.began.Add(time.Duration(float64(r.seen) / float64(r.o.Rate) * float64(time.Second)))
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(due)):
		}
	}
	return ctx.Err()
}

func (r *run) progress(counts Counts) {
	r.o.Progress(Progress{Counts: counts, Seen: r.seen, Total: r.total, Elapsed: time.Since(r.began)})
}

// scanned is what comes out of a scan: parts of a page, and its end.
type scanned struct {
	part
	keys int
	next string // the cursor behind the page
	end  bool   // the page is complete
	err  error
}

// scan reads a database from a cursor on, beside the caller, who calls stop when done with it.
func (r *run) scan(ctx context.Context, reader *reader, cursor string) (pages <-chan scanned, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan scanned, 1)
	send := func(s scanned) error {
		select {
		case out <- s:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		defer close(out)
		for {
			keys, next, err := reader.conn.scan(cursor, r.o.Match, r.o.PageKeys)
			if err == nil {
				err = reader.page(keys, func(p part) error { return send(scanned{part: p}) })
			}
			if send(scanned{keys: len(keys), next: next, end: err == nil, err: err}) != nil || err != nil || next == "0" {
				return
			}
			cursor = next
		}
	}()
	return out, func() {
		cancel()
		for range out { // until the goroutine has ended
		}
	}
}

// scan asks for a page of keys, each once.
func (c *Conn) scan(cursor, match string, count int) (keys []string, next string, err error) {
	args := []string{"SCAN", cursor, "COUNT", strconv.Itoa(count)}
	if match != "" {
		args = append(args, "MATCH", match)
	}
	reply, err := c.Do(args...)
	if err != nil {
		return nil, "", err
	}
	if len(reply.Elems) != 2 {
		return nil, "", errors.New("the source does not answer SCAN as Redis does")
	}
	seen := make(map[string]bool, len(reply.Elems[1].Elems))
	for _, elem := range reply.Elems[1].Elems {
		if key := string(elem.Str); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys, string(reply.Elems[0].Str), nil
}
