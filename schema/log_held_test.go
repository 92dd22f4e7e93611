package schema_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/schema"
)

var held = flag.Duration("log.held", 0, "how long TestLogUnderAHeldSnapshot holds a snapshot; 0: for 40 ticks, without pauses")

// A snapshot that stays open keeps the dead rows of the change log. A poll must not
// become slower for it, and the log must not grow on when the snapshot is gone. For
// figures at a real pace (those of docs/adr/0023-change-log.md):
//
//	go test ./schema -run TestLogUnderAHeldSnapshot -v -timeout 2h -log.held 1h
func TestLogUnderAHeldSnapshot(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	w := newLogWriter(t, db)
	w.second(t, db)
	before := sampleLog(t, db)

	tx, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	one[int](t, tx, "SELECT count(*) FROM howdah_internal.change")

	t.Logf("%-10s %s", "held for", "log, index, its rows, median poll, 99th percentile of a write, of one beside a trim")
	seconds := 40
	if *held > 0 {
		seconds = int(held.Seconds())
	}
	var last logSample
	for i := range seconds {
		w.second(t, db)
		if (i+1)%max(1, seconds/10) == 0 {
			last = sampleLog(t, db)
			t.Logf("%-10s %s, %s", time.Duration(i+1)*time.Second, last, w.latencies())
		}
	}
	tick(t, db) // the trim of a second may have met its deadline, or have come after the writes
	require.LessOrEqual(t, logLength(t, db), 32*writesPerSecond+2*writesPerSecond, "rows that no program needs are not removed")
	// A poll reads what is new, not what is dead: pages, and not time, say so.
	require.LessOrEqual(t, last.pollPages, 4*before.pollPages+64, "a poll reads what the snapshot keeps")

	require.NoError(t, tx.Rollback(ctx(t)))
	run(t, db, "VACUUM howdah_internal.change")
	size := sampleLog(t, db).heap
	for range 40 {
		w.second(t, db)
	}
	require.LessOrEqual(t, sampleLog(t, db).heap, size+1<<20, "the room of dead rows is not used again")
}

const writesPerSecond = 50 // statements of 64 keys each

// logWriter writes to the cache n as many callers do: many keys in a statement.
type logWriter struct {
	random      *rand.Rand
	quiet, trim []time.Duration // what writes took, by whether the log was trimmed meanwhile
}

func newLogWriter(t *testing.T, db *pgxpool.Pool) *logWriter {
	return &logWriter{random: seed.Rand(t)}
}

// second writes for a second, real where -log.held is given, and trims the log once.
func (w *logWriter) second(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	began := time.Now()
	var trimmed chan error
	for i := range writesPerSecond {
		keys := make([][]byte, 64)
		for j := range keys { // so many that the versions of one key, which the snapshot keeps too, stay few
			keys[j] = fmt.Appendf(nil, "key:%d", w.random.IntN(2_000_000))
		}
		if i == writesPerSecond/2 {
			trimmed = make(chan error, 1)
			go func() {
				_, err := db.Exec(ctx(t), "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
				if err == nil {
					_, err = db.Exec(ctx(t), "SELECT howdah_internal._trim_log(clock_timestamp() + interval '1 second')")
				}
				trimmed <- err
			}()
		}
		start := time.Now()
		_, err := db.Exec(ctx(t), "SELECT howdah.set_many('n', $1, $1)", keys)
		require.NoError(t, err)
		if took := time.Since(start); i == writesPerSecond/2 {
			w.trim = append(w.trim, took)
		} else {
			w.quiet = append(w.quiet, took)
		}
	}
	require.NoError(t, <-trimmed)
	if *held > 0 {
		time.Sleep(time.Second - time.Since(began))
	}
}

// latencies returns the 99th percentiles since the last call.
func (w *logWriter) latencies() string {
	p99 := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)*99/100].Round(10 * time.Microsecond)
	}
	text := fmt.Sprintf("%v, %v", p99(w.quiet), p99(w.trim))
	w.quiet, w.trim = nil, nil
	return text
}

type logSample struct {
	heap, index     int64 // bytes
	rows, pollPages int
	poll            time.Duration
}

func (s logSample) String() string {
	return fmt.Sprintf("%.1f MB, %.1f MB, %d, %v", float64(s.heap)/1e6, float64(s.index)/1e6, s.rows, s.poll.Round(time.Microsecond))
}

// sampleLog measures the log, and a poll from the snapshot of now, with what one
// statement has changed since.
func sampleLog(t *testing.T, db *pgxpool.Pool) (s logSample) {
	t.Helper()
	s.heap = one[int64](t, db, "SELECT pg_relation_size('howdah_internal.change')")
	s.index = one[int64](t, db, "SELECT pg_relation_size('howdah_internal.change_xid')")
	s.rows = logLength(t, db)
	var took []time.Duration
	for range 21 {
		p := ask(t, db, "0")
		xmax, xip := p.cursor(t)
		run(t, db, "SELECT howdah.set('n', 'sampled', 'v')")
		var explained []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
			Time float64 `json:"Execution Time"`
		}
		conn, err := db.Acquire(ctx(t))
		require.NoError(t, err)
		text := one[string](t, conn, "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) "+schema.Query("poll"), pgx.QueryExecModeExec, xmax, append([]string{}, xip...), true)
		conn.Release()
		require.NoError(t, json.Unmarshal([]byte(text), &explained))
		took = append(took, time.Duration(explained[0].Time*float64(time.Millisecond)))
		s.pollPages = explained[0].Plan.Hit + explained[0].Plan.Read
	}
	slices.Sort(took)
	s.poll = took[len(took)/2]
	return s
}
