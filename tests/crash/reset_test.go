package crash_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
)

// awaitReset awaits that upkeep has noticed, counted and logged that the
// UNLOGGED caches are empty, or has looked and found them as they were.
func (e *event) awaitReset(t *testing.T, db *howdah.DB, log *dbtest.Log, back time.Time, epoch int64) (noticed string) {
	t.Helper()
	if !e.emptied {
		awaitWatch(t, db)
		require.Zero(t, db.Stats().Upkeep.Resets)
		require.Equal(t, epoch, epochOf(t, db))
		return "none"
	}
	dbtest.Eventually(t, "the reset is counted", func() bool { return db.Stats().Upkeep.Resets == 1 })
	dbtest.Eventually(t, "the reset is logged", func() bool {
		return strings.Count(log.String(), "the UNLOGGED caches were empty after a crash") == 1
	})
	require.Equal(t, epoch+1, epochOf(t, db), "everybody sees it, once")
	var after float64
	require.NoError(t, db.Pool().QueryRow(t.Context(),
		"SELECT extract(epoch FROM since - $1::timestamptz)::float8 FROM howdah.epoch WHERE epoch > 1", back).Scan(&after))
	if e.copied {
		return "yes"
	}
	return "after " + time.Duration(max(0, after)*float64(time.Second)).Round(time.Millisecond).String()
}

func epochOf(t *testing.T, db *howdah.DB) int64 {
	t.Helper()
	return dbtest.Number(t, db, "SELECT epoch FROM howdah.epoch")
}

// awaitWatch awaits that the leader has looked once more.
func awaitWatch(t *testing.T, db *howdah.DB) {
	t.Helper()
	var now time.Time
	require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
	dbtest.Eventually(t, "upkeep looks again", func() bool {
		var ok bool
		err := db.Pool().QueryRow(t.Context(), "SELECT until - interval '5 seconds' > $1 FROM howdah.leader", now).Scan(&ok)
		return err == nil && ok
	})
}

func misses(t *testing.T, db *howdah.DB, class, key string) bool {
	t.Helper()
	_, err := db.Cache(class).Get(t.Context(), key)
	return errors.Is(err, howdah.ErrMiss)
}

// sessionRows are sessions that were started, and some of them revoked, before
// an event.
type sessionRows struct{ live, revoked []string }

func startSessions(t *testing.T, db *howdah.DB) (s sessionRows) {
	t.Helper()
	for i := range 20 {
		var id string
		require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT gen_random_uuid()::text").Scan(&id))
		dbtest.Exec(t, db, "SELECT howdah.session_create($1, sha256($2), 'user', $2)", id, []byte(id))
		if i%2 == 0 {
			s.live = append(s.live, id)
			continue
		}
		dbtest.Exec(t, db, "SELECT howdah.session_revoke($1)", id)
		s.revoked = append(s.revoked, id)
	}
	return s
}

func (s sessionRows) check(t *testing.T, db *howdah.DB) {
	t.Helper()
	const get = "SELECT count(*) FROM howdah.session_get($1, sha256($2)) WHERE payload = $2"
	for _, id := range s.live {
		require.EqualValues(t, 1, dbtest.Number(t, db, get, id, []byte(id)))
	}
	for _, id := range s.revoked {
		require.Zero(t, dbtest.Number(t, db, get, id, []byte(id)), "a revoked session came back")
	}
}

// openLogged opens a database with a timeout like that of applications, and
// keeps what it logs.
func openLogged(t *testing.T, url string) (*howdah.DB, *dbtest.Log) {
	t.Helper()
	log := new(dbtest.Log)
	return dbtest.Open(t, url, &howdah.Options{Timeout: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))}), log
}
