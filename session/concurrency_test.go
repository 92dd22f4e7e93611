package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/session"
)

// together runs fn n times at once.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			fn(i)
		})
	}
	close(begin)
	wg.Wait()
}

func TestMergesLoseNothing(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	s := create(t, m, session.Start{})
	together(12, func(i int) {
		for j := range 10 {
			_, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{fmt.Sprintf("f%d.%d", i, j): json.RawMessage("1")})
			require.NoError(t, err)
		}
	})
	var fields map[string]int
	got := get(t, m, s.Token())
	require.NoError(t, json.Unmarshal(got.Payload, &fields))
	require.Len(t, fields, 120)
	require.Equal(t, s.Version+120, got.Version)
}

func TestPatchesLoseNothing(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	s := create(t, m, session.Start{Payload: []byte("0")})
	together(8, func(int) {
		for range 5 {
			_, err := m.Patch(t.Context(), s.Token(), func(old []byte) ([]byte, error) {
				n, err := strconv.Atoi(string(old))
				return []byte(strconv.Itoa(n + 1)), err
			})
			require.NoError(t, err)
		}
	})
	require.Equal(t, "40", string(get(t, m, s.Token()).Payload))
}

// Of many that rotate one token, one wins; saves by the old token land before
// the rotation or not at all.
func TestRotateAgainstEverything(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	for range 10 {
		s := create(t, m, session.Start{})
		var mu sync.Mutex
		var winners []*session.Session
		saved := map[string]bool{}
		together(9, func(i int) {
			if i%3 == 0 {
				r, err := m.Rotate(t.Context(), s.Token(), session.Renewal{})
				if err == nil {
					mu.Lock()
					winners = append(winners, r)
					mu.Unlock()
				} else {
					require.ErrorIs(t, err, session.ErrNotFound)
				}
				return
			}
			field := strconv.Itoa(i)
			_, _, err := m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{field: json.RawMessage("1")})
			if err == nil {
				mu.Lock()
				saved[field] = true
				mu.Unlock()
			} else {
				require.ErrorIs(t, err, session.ErrNotFound)
			}
		})
		require.Len(t, winners, 1)
		dead(t, m, s.Token())
		got := map[string]json.RawMessage{}
		if payload := get(t, m, winners[0].Token()).Payload; len(payload) > 0 {
			require.NoError(t, json.Unmarshal(payload, &got))
		}
		require.Len(t, got, len(saved), "what was acknowledged is there, what was refused is not")
		for field := range saved {
			require.Contains(t, got, field)
		}
	}
}

// Whatever runs at the same time as a revocation, the session stays dead.
func TestRevokedIsNeverResurrected(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	m, pool := open(t, session.Options{})
	for range 15 {
		s := create(t, m, session.Start{User: "ada"})
		age(t, pool, s.ID, 20*time.Minute) // reads have to touch
		revoke := []func() error{
			func() error { _, err := m.End(t.Context(), s.Token()); return err },
			func() error { _, err := m.Revoke(t.Context(), s.ID); return err },
			func() error { _, err := m.RevokeUser(t.Context(), "ada"); return err },
		}[random.IntN(3)]
		before := random.IntN(10)
		together(6, func(i int) {
			var err error
			switch i {
			case 0:
				for range before { // any interleaving will do; this varies it, on a machine of any speed
					_, err := pool.Exec(t.Context(), "SELECT 1")
					require.NoError(t, err)
				}
				require.NoError(t, revoke())
			case 1:
				_, _, err = m.Merge(t.Context(), s.Token(), map[string]json.RawMessage{"a": json.RawMessage("1")})
			case 2:
				_, err = m.Save(t.Context(), s.Token(), s.Version, []byte("{}"))
				if errors.Is(err, session.ErrConflict) {
					err = nil
				}
			case 3:
				_, err = pool.Exec(t.Context(), "SELECT howdah.session_touch(ARRAY[$1::uuid])", s.ID.String())
			default:
				_, err = m.Get(t.Context(), s.Token())
			}
			if err != nil {
				require.ErrorIs(t, err, session.ErrNotFound)
			}
		})
		require.NoError(t, m.Flush(t.Context()))
		dead(t, m, s.Token())
		require.Zero(t, one[int](t, pool, "SELECT count(*) FROM howdah.session"))
	}
}

func TestUserLimitUnderRaces(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{UserLimit: 3})
	var mu sync.Mutex
	var made []*session.Session
	together(12, func(int) {
		s, err := m.Create(t.Context(), session.Start{User: "ada"})
		if err == nil {
			mu.Lock()
			made = append(made, s)
			mu.Unlock()
		} else {
			require.ErrorIs(t, err, session.ErrUserLimit)
		}
	})
	require.Len(t, made, 3)
	for _, s := range made {
		get(t, m, s.Token())
	}
	create(t, m, session.Start{User: "bob"})
	create(t, m, session.Start{})

	// A login is held to it, too, and leaves the session as it was.
	anonymous := create(t, m, session.Start{})
	_, err := m.Rotate(t.Context(), anonymous.Token(), session.Renewal{User: "ada"})
	require.ErrorIs(t, err, session.ErrUserLimit)
	require.Empty(t, get(t, m, anonymous.Token()).User)
	// Rotating one of the three is not a fourth.
	_, err = m.Rotate(t.Context(), made[0].Token(), session.Renewal{User: "ada"})
	require.NoError(t, err)
}

func TestRevokeOldestUnderRaces(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{UserLimit: 3, RevokeOldest: true})
	first := create(t, m, session.Start{User: "ada"})
	together(12, func(int) { create(t, m, session.Start{User: "ada"}) })
	n, err := m.CountUser(t.Context(), "ada")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	dead(t, m, first.Token())

	last := create(t, m, session.Start{})
	last, err = m.Rotate(t.Context(), last.Token(), session.Renewal{User: "ada"})
	require.NoError(t, err)
	n, err = m.CountUser(t.Context(), "ada")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	get(t, m, last.Token())

	// A token that is no good revokes nobody.
	for range 3 {
		_, err = m.Rotate(t.Context(), first.Token(), session.Renewal{User: "ada"})
		require.ErrorIs(t, err, session.ErrNotFound)
	}
	n, err = m.CountUser(t.Context(), "ada")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)

	// Logins of sessions that are themselves the oldest do not deadlock.
	together(8, func(i int) {
		s := create(t, m, session.Start{User: "ada"})
		if _, err := m.Rotate(t.Context(), s.Token(), session.Renewal{User: "ada"}); err != nil {
			require.ErrorIs(t, err, session.ErrNotFound)
		}
	})
}

// Batches of the same sessions in any order do not deadlock, nor do they with
// revocations.
func TestBatchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	m, _ := openURL(t, url, session.Options{})
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 6
	// Not the pool of a DB, whose statements give up after LockTimeout: they wait
	// until PostgreSQL finds a deadlock.
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	random := seed.Rand(t)
	var ids []string
	for range 100 {
		ids = append(ids, create(t, m, session.Start{User: "ada"}).ID.String())
	}
	var orders [6][]string
	for i := range orders {
		orders[i] = slices.Clone(ids)
		random.Shuffle(len(ids), func(a, b int) { orders[i][a], orders[i][b] = orders[i][b], orders[i][a] })
	}
	together(len(orders), func(i int) {
		mine := orders[i]
		for range 5 {
			_, err := pool.Exec(t.Context(), "UPDATE howdah.session SET idle_expires_at = statement_timestamp() + '20 min' WHERE id = $1::uuid", mine[0])
			require.NoError(t, err)
			if i == 0 {
				_, err = pool.Exec(t.Context(), "SELECT howdah.session_revoke_user('nobody'), howdah.session_expire()")
			} else {
				_, err = pool.Exec(t.Context(), "SELECT howdah.session_touch($1::text[]::uuid[])", mine)
			}
			require.NoError(t, err)
		}
	})
	n, err := m.RevokeUser(t.Context(), "ada")
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
}

// A session that somebody's transaction holds delays its own writers only, for
// no longer than they care to wait, and they hear that nothing changed.
func TestLockedSession(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	m, pool := openURL(t, url, session.Options{})
	// A tenth of the time is left for the refusal to arrive, also on a busy machine.
	impatient, _ := openURL(t, url, session.Options{Timeout: 10 * time.Second})
	s := create(t, m, session.Start{})
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM howdah.session FOR UPDATE")
	require.NoError(t, err)
	together(2, func(i int) {
		var err error
		if i == 0 {
			_, _, err = impatient.Merge(t.Context(), s.Token(), nil)
		} else {
			_, err = impatient.End(t.Context(), s.Token())
		}
		require.ErrorIs(t, err, howdah.ErrTimeout)
	})
	get(t, m, s.Token())
	done := make(chan error, 1)
	go func() {
		_, _, err := m.Merge(t.Context(), s.Token(), nil)
		done <- err
	}()
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, s.Version+1, get(t, m, s.Token()).Version)
}

// One that is being created counts for the next: that one waits and sees.
func TestUserLimitCountsWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{UserLimit: 1})
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT howdah.session_create(gen_random_uuid(), sha256('x'), 'ada', user_limit => 1)")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := m.Create(t.Context(), session.Start{User: "ada"})
		done <- err
	}()
	eventually(t, "the second has answered or waits", func() bool {
		return len(done) == 1 || one[bool](t, pool, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "+
			"AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))")
	})
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorIs(t, <-done, session.ErrUserLimit)
}

// Reads at the same time share statements, and each caller gets what is its own:
// its session, a refusal, or the end of its own time.
func TestReadsShareStatements(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	var tokens []session.Token
	for i := range 20 {
		tokens = append(tokens, create(t, m, session.Start{User: fmt.Sprint("user", i), Payload: fmt.Append(nil, "payload", i)}).Token())
	}
	forged, err := session.ParseToken(tokens[0].Reveal()[:24] + tokens[1].Reveal()[24:])
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var reads, statements uint64
	for reads == statements {
		errs := make([]error, 64)
		together(64, func(i int) {
			n := i % (len(tokens) + 2)
			switch n - len(tokens) {
			case 0:
				if _, err := m.Get(t.Context(), forged); !errors.Is(err, session.ErrNotFound) {
					errs[i] = fmt.Errorf("a forged token: %v", err)
				}
			case 1:
				if _, err := m.Get(gone, tokens[0]); !errors.Is(err, context.Canceled) {
					errs[i] = fmt.Errorf("a caller that left: %v", err)
				}
			default:
				s, err := m.Get(t.Context(), tokens[n])
				if err == nil && (s.User != fmt.Sprint("user", n) || string(s.Payload) != fmt.Sprint("payload", n) ||
					s.ID != tokens[n].ID() || s.Token().Reveal() != tokens[n].Reveal()) {
					err = fmt.Errorf("session %d is %v", n, s)
				}
				if errs[i] = err; err == nil {
					s.Payload[0] = 'P' // nobody else's
				}
			}
		})
		require.NoError(t, errors.Join(errs...))
		reads, statements = m.SharedReads()
	}
	t.Logf("%d reads in %d statements", reads, statements)
}

// A connection that has forgotten the prepared statements (DISCARD ALL, say) is
// no failure of a read.
func TestReadsOnAConnectionThatForgot(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{})
	s := create(t, m, session.Start{Payload: []byte("kept")})
	get(t, m, s.Token())
	conns := pool.AcquireAllIdle(t.Context())
	require.NotEmpty(t, conns)
	for _, conn := range conns {
		_, err := conn.Exec(t.Context(), "DEALLOCATE ALL")
		require.NoError(t, err)
		conn.Release()
	}
	require.Equal(t, "kept", string(get(t, m, s.Token()).Payload))
}

// A save between the read and the write of a rotation is not lost: the caller of
// Rotate sees it, or its next save returns ErrConflict.
func TestRotateSeesSaveInBetween(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	m, pool := openURL(t, url, session.Options{})
	for name, rotate := range map[string]func(s *session.Session) (*session.Session, error){
		"Rotate": func(s *session.Session) (*session.Session, error) {
			return m.Rotate(t.Context(), s.Token(), session.Renewal{User: "ada", Restart: true})
		},
		"Login": func(s *session.Session) (*session.Session, error) {
			return throughMiddleware(m, s, func(c *session.Current) error { return c.Login("ada") })
		},
		"Renew": func(s *session.Session) (*session.Session, error) {
			return throughMiddleware(m, s, (*session.Current).Renew)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := create(t, m, session.Start{Payload: []byte(`{"cart":"P0"}`)})
			r := rotateAroundSave(t, pool, s, `{"cart":"P1"}`, rotate)
			require.NotEqual(t, s.Token(), r.Token())
			require.Equal(t, `{"cart":"P1"}`, string(r.Payload))
			version, err := m.Save(t.Context(), r.Token(), r.Version, []byte(`{"cart":"P2"}`))
			require.NoError(t, err)
			require.Equal(t, s.Version+3, version)
		})
	}
}

// If Rotate cannot read what another request saved meanwhile, the next save of its
// caller returns ErrConflict.
func TestRotateThatCannotReadAgain(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{})
	s := create(t, m, session.Start{Payload: []byte("P0")})
	// The session ends for the read after the rotation, and comes back.
	run(t, pool, `
		CREATE FUNCTION end_rotated() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN NEW.idle_expires_at := statement_timestamp() - interval '1 s'; RETURN NEW; END $$;
		CREATE TRIGGER end_rotated BEFORE UPDATE ON howdah.session FOR EACH ROW
		WHEN (NEW.secret_hash <> OLD.secret_hash) EXECUTE FUNCTION end_rotated()`)
	r := rotateAroundSave(t, pool, s, "P1", func(s *session.Session) (*session.Session, error) {
		return m.Rotate(t.Context(), s.Token(), session.Renewal{})
	})
	run(t, pool, "UPDATE howdah.session SET idle_expires_at = statement_timestamp() + interval '1 min' WHERE id = $1::uuid", s.ID.String())
	_, err := m.Save(t.Context(), r.Token(), r.Version, []byte("P2"))
	require.ErrorIs(t, err, session.ErrConflict)
	require.Equal(t, "P1", string(get(t, m, r.Token()).Payload))
}

// rotateAroundSave rotates s while a transaction that saves another payload holds
// its row: the rotation has read, and waits to write.
func rotateAroundSave(t *testing.T, pool *pgxpool.Pool, s *session.Session, payload string, rotate func(*session.Session) (*session.Session, error)) *session.Session {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM howdah.session WHERE id = $1::uuid FOR UPDATE", s.ID.String())
	require.NoError(t, err)
	type result struct {
		session *session.Session
		err     error
	}
	done := make(chan result, 1)
	go func() {
		r, err := rotate(s)
		done <- result{r, err}
	}()
	eventually(t, "the rotation waits for the row", func() bool {
		require.Empty(t, done)
		return one[bool](t, pool, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%session_rotate%')")
	})
	var saved bool
	require.NoError(t, tx.QueryRow(t.Context(), `
		SELECT saved.saved
		FROM howdah.session AS s, howdah.session_save(s.id, s.secret_hash, $2, $3::text::bytea) AS saved
		WHERE s.id = $1::uuid`, s.ID.String(), s.Version, payload).Scan(&saved))
	require.True(t, saved)
	require.NoError(t, tx.Commit(t.Context()))
	got := <-done
	require.NoError(t, got.err)
	return got.session
}

// throughMiddleware changes the session of a request, and returns it as the
// request then has it.
func throughMiddleware(m *session.Manager, s *session.Session, change func(*session.Current) error) (changed *session.Session, err error) {
	handler := m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		current := session.From(r.Context())
		if err = change(current); err == nil {
			changed, err = current.Session()
		}
	}))
	request := httptest.NewRequest(http.MethodPost, "https://example.com/", nil)
	request.AddCookie(&http.Cookie{Name: "__Host-session", Value: s.Token().Reveal()})
	handler.ServeHTTP(httptest.NewRecorder(), request)
	return changed, err
}
