//go:build clients && unix

package coherence

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// witnessDatabase is the one of the keys that a witness reads, each once.
const witnessDatabase = "2"

// barrier says that a server had told its clients by End of all that was acknowledged
// before Begin.
type barrier struct{ Begin, End int64 }

// witness is a client of a server that keeps no copies. It finds out when the other
// clients of the server have been told, by nothing but the order of events:
//
//   - It reads a new key, an SQL function writes the key, and the invalidation comes. The
//     poll of the change log that found the write has found all that was acknowledged
//     before it.
//   - A second key is read and written after that. The poll that finds it is a later one,
//     and the server tells of the changes of one poll before it sends the next one.
//
// While polls fail nothing is found. Then the witness waits for three messages
// that say to drop everything, after a read that has failed: the second one was begun after the
// read had begun, and has gone to all clients before the third one.
type witness struct {
	name   string
	server func() string // its address
	url    string        // of the database

	conn  net.Conn
	in    *bufio.Reader
	sql   *pgx.Conn
	keys  int
	nulls int             // messages that say to drop everything
	ended map[string]bool // keys of which it was told

	mu       sync.Mutex
	barriers []barrier
	outages  int // barriers while polls failed
}

// watch collects barriers until ctx ends.
func (w *witness) watch(ctx context.Context) {
	defer w.leave()
	for ctx.Err() == nil {
		begin, outage := now(), false
		ok, err := w.round(ctx)
		if ok {
			ok, err = w.round(ctx)
		} else if err == nil && w.failing(ctx) {
			ok, outage = true, true
		}
		if err != nil {
			w.leave()
			rest(ctx, short)
		} else if ok {
			w.add(barrier{begin, now()}, outage)
		}
	}
}

func (w *witness) add(b barrier, outage bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.barriers = append(w.barriers, b)
	if outage {
		w.outages++
	}
}

// counts returns how many barriers there are, and how many of them while polls failed.
func (w *witness) counts() (all, outages int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.barriers), w.outages
}

// told returns by when the writes were acknowledged of which every client had been told before
// a time.
func (w *witness) told(before int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := sort.Search(len(w.barriers), func(i int) bool { return w.barriers[i].End > before })
	if n == 0 {
		return math.MinInt64
	}
	return w.barriers[n-1].Begin
}

// round reads a new key, lets it be written and waits until it is told so. False: the key
// could not be read, or everything was to be dropped meanwhile.
func (w *witness) round(ctx context.Context) (bool, error) {
	key, err := w.connect(ctx)
	if err != nil {
		return false, err
	}
	reply, err := w.do("GET", key)
	if err != nil || reply.Kind == resp.Error {
		return false, err
	}
	nulls := w.nulls
	if _, err := w.sql.Exec(ctx, "SELECT howdah.set_text('db"+witnessDatabase+"', $1, 'written')", key); err != nil {
		return false, err
	}
	for !w.ended[key] && w.nulls == nulls {
		if err := w.hear(); err != nil {
			return false, err
		}
	}
	ok := w.ended[key]
	clear(w.ended)
	return ok, nil
}

// failing reads until it was told three times to drop everything. False: a read has
// succeeded.
func (w *witness) failing(ctx context.Context) bool {
	nulls, reads := w.nulls, false
	await.Until(ctx, func() bool {
		key, err := w.connect(ctx)
		if err != nil {
			reads = true
			return true
		}
		reply, err := w.do("GET", key)
		reads = err != nil || reply.Kind != resp.Error
		return reads || w.nulls >= nulls+3
	})
	return !reads
}

// connect returns a key that nobody has read, once there are connections.
func (w *witness) connect(ctx context.Context) (key string, err error) {
	w.keys++
	key = fmt.Sprintf("%s-%d", w.name, w.keys)
	if w.sql == nil || w.sql.IsClosed() {
		if w.sql, err = pgx.Connect(ctx, w.url); err != nil {
			return "", err
		}
	}
	if w.conn != nil {
		return key, nil
	}
	if w.conn, err = net.DialTimeout("tcp", w.server(), someTime); err != nil {
		w.conn = nil
		return "", err
	}
	w.in, w.ended = bufio.NewReader(w.conn), map[string]bool{}
	for _, words := range [][]string{{"HELLO", "3"}, {"SELECT", witnessDatabase}, {"CLIENT", "TRACKING", "ON"}} {
		reply, err := w.do(words...)
		if err == nil {
			err = reply.Err()
		}
		if err != nil {
			return "", err
		}
	}
	return key, nil
}

// leave ends the connections.
func (w *witness) leave() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
	if w.sql != nil {
		w.sql.Close(context.Background())
		w.sql = nil
	}
}

// do sends a command and returns its reply.
func (w *witness) do(words ...string) (resp.Reply, error) {
	if _, err := w.conn.Write(resp.AppendCommand(nil, words...)); err != nil {
		return resp.Reply{}, err
	}
	for {
		reply, err := w.read()
		if err != nil || reply.Kind != resp.Push {
			return reply, err
		}
	}
}

// hear reads one message.
func (w *witness) hear() error {
	_, err := w.read()
	return err
}

// read reads a reply or a message, and takes note of what it says.
func (w *witness) read() (resp.Reply, error) {
	w.conn.SetReadDeadline(time.Now().Add(someTime))
	reply, err := resp.ReadReply(w.in)
	if err != nil || reply.Kind != resp.Push {
		return reply, err
	}
	if what := reply.Elems[1]; what.Kind == resp.Null {
		w.nulls++
	} else {
		for _, key := range what.Elems {
			w.ended[string(key.Str)] = true
		}
	}
	return reply, nil
}
