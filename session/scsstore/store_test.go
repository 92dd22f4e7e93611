package scsstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session/scsstore"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	_ scs.Store            = (*scsstore.Store)(nil)
	_ scs.CtxStore         = (*scsstore.Store)(nil)
	_ scs.IterableStore    = (*scsstore.Store)(nil)
	_ scs.IterableCtxStore = (*scsstore.Store)(nil)
)

func open(t *testing.T) (*scsstore.Store, *pgxpool.Pool) {
	t.Helper()
	db, err := howdah.Open(t.Context(), pgtest.New(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return scsstore.New(db), db.Pool()
}

const token = "kV7x0nqUqkTtYdJqlpKzQ3m5g1cR8sFhA2bW4eXyZ0u"

// What the contract in scs's store.go says, sentence by sentence.
func TestContract(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	later := time.Now().Add(time.Hour)

	_, found, err := s.Find(token)
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, s.Delete(token), "deleting what is not there")
	all, err := s.All()
	require.NoError(t, err)
	require.NotNil(t, all)
	require.Empty(t, all)

	require.NoError(t, s.Commit(token, []byte("one\x00\xff"), later))
	data, found, err := s.Find(token)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []byte("one\x00\xff"), data)
	require.NoError(t, s.Commit(token, nil, later.Add(time.Hour)))
	data, found, err = s.Find(token)
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, data)
	require.Equal(t, 1, count(t, pool))

	for _, malformed := range []string{"", "x", token + "x", token[1:], "\x00", strings.Repeat("x", 1<<20), "' OR 1=1", "\xff"} {
		_, found, err := s.Find(malformed)
		require.NoError(t, err, "%.20q", malformed)
		require.False(t, found)
	}

	// Expired: by the database's clock.
	_, err = pool.Exec(t.Context(), "UPDATE howdah.session SET idle_expires_at = statement_timestamp()")
	require.NoError(t, err)
	_, found, err = s.Find(token)
	require.NoError(t, err)
	require.False(t, found)
	all, err = s.All()
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, s.Commit(token, []byte("again"), later))
	_, found, err = s.Find(token)
	require.NoError(t, err)
	require.True(t, found)
	require.NoError(t, s.Commit(token, []byte("past"), time.Now().Add(-time.Second)))
	_, found, err = s.Find(token)
	require.NoError(t, err)
	require.False(t, found)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.FindCtx(cancelled, token)
	require.ErrorIs(t, err, context.Canceled)
	require.Error(t, s.CommitCtx(cancelled, token, nil, later))
	require.Error(t, s.DeleteCtx(cancelled, token))
	_, err = s.AllCtx(cancelled)
	require.Error(t, err)
	require.ErrorContains(t, s.Commit("large", make([]byte, 2<<20), later), "1 MiB")
	require.ErrorContains(t, s.Commit("forever", nil, time.Now().Add(70*365*24*time.Hour)), "out of range")
}

func count(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM howdah.session").Scan(&n))
	return n
}

// A request that still runs when its user logs out does not bring the session
// back.
func TestDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	later := time.Now().Add(time.Hour)
	require.NoError(t, s.Commit(token, []byte("logged in"), later))
	require.NoError(t, s.Delete(token))
	require.NoError(t, s.Commit(token, []byte("logged in"), later))
	_, found, err := s.Find(token)
	require.NoError(t, err)
	require.False(t, found)
	expire := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT expired FROM howdah.session_expire()").Scan(&n))
		return n
	}
	require.Zero(t, expire(), "it is remembered")
	var payload []byte
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT payload FROM howdah.session").Scan(&payload))
	require.Empty(t, payload, "its data is not")
	_, err = pool.Exec(t.Context(), "UPDATE howdah.session SET absolute_expires_at = absolute_expires_at - interval '1 hour'")
	require.NoError(t, err)
	require.Equal(t, 1, expire(), "for an hour")

	// Nor does it come back when an administrator has ended it by its id.
	require.NoError(t, s.Commit(token, []byte("logged in"), later))
	_, err = pool.Exec(t.Context(), "SELECT howdah.session_revoke(id) FROM howdah.sessions")
	require.NoError(t, err)
	require.NoError(t, s.Commit(token, []byte("logged in"), later))
	_, found, err = s.Find(token)
	require.NoError(t, err)
	require.False(t, found)
}

// What All returns identifies sessions and logs nobody in.
func TestHandles(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	later := time.Now().Add(time.Hour)
	require.NoError(t, s.Commit(token, []byte("a"), later))
	// A session of session.Manager is none of scs's.
	_, err := pool.Exec(t.Context(), "SELECT howdah.session_create('01890000-0000-7000-8000-000000000001', sha256('x'))")
	require.NoError(t, err)
	all, err := s.All()
	require.NoError(t, err)
	require.Len(t, all, 1)
	for handle, data := range all {
		require.Equal(t, "a", string(data))
		require.NotContains(t, handle, token)
		_, found, err := s.Find(handle)
		require.NoError(t, err)
		require.False(t, found)
		require.NoError(t, s.Commit(handle, []byte("b"), later))
		data, _, err := s.Find(token)
		require.NoError(t, err)
		require.Equal(t, "b", string(data))
		require.NoError(t, s.Delete(handle))
		require.NoError(t, s.Commit(handle, []byte("c"), later))
	}
	_, found, err := s.Find(token)
	require.NoError(t, err)
	require.False(t, found)
	for _, handle := range []string{"howdah:", "howdah:x", "howdah:' OR true --"} {
		require.Error(t, s.Delete(handle))
	}
	require.NoError(t, s.Commit("howdah:01890000-0000-8000-8000-000000000001", nil, later), "makes nothing new")
	require.Equal(t, 2, count(t, pool))
}

// The real manager, its real middleware, and browsers.
func TestSessionManager(t *testing.T) {
	t.Parallel()
	for _, hashed := range []bool{false, true} {
		t.Run(fmt.Sprintf("HashTokenInStore %t", hashed), func(t *testing.T) {
			store, pool := open(t)
			manager := scs.New()
			manager.Store = store
			manager.HashTokenInStore = hashed
			manager.IdleTimeout = time.Hour
			mux := http.NewServeMux()
			mux.HandleFunc("/put", func(w http.ResponseWriter, r *http.Request) {
				manager.Put(r.Context(), r.FormValue("k"), r.FormValue("v"))
			})
			mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, manager.GetString(r.Context(), r.FormValue("k")))
			})
			mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
				if err := manager.RenewToken(r.Context()); err != nil {
					t.Error(err)
				}
				manager.Put(r.Context(), "user", r.FormValue("user"))
			})
			mux.HandleFunc("/logout", func(w http.ResponseWriter, r *http.Request) {
				if err := manager.Destroy(r.Context()); err != nil {
					t.Error(err)
				}
			})
			arrived, leave := make(chan struct{}), make(chan struct{})
			mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-leave
				manager.Put(r.Context(), "slow", "1")
			})
			server := httptest.NewServer(manager.LoadAndSave(mux))
			defer server.Close()
			browser := func() func(path string) string {
				jar, _ := cookiejar.New(nil)
				client := &http.Client{Jar: jar, Timeout: time.Minute}
				return func(path string) string {
					resp, err := client.Get(server.URL + path)
					require.NoError(t, err)
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.Equal(t, http.StatusOK, resp.StatusCode)
					return string(body)
				}
			}
			ada, eve := browser(), browser()
			ada("/put?k=cart&v=book")
			eve("/put?k=cart&v=pen")
			ada("/login?user=ada")
			require.Equal(t, "book", ada("/get?k=cart"))
			require.Equal(t, "ada", ada("/get?k=user"))
			require.Equal(t, "pen", eve("/get?k=cart"))
			require.Empty(t, eve("/get?k=user"))

			// Logged out while another request runs: it stays so.
			var wg sync.WaitGroup
			wg.Go(func() { ada("/slow") })
			<-arrived
			ada("/logout")
			close(leave)
			wg.Wait()
			require.Empty(t, ada("/get?k=user"))

			if !hashed { // scs's Iterate hashes what All returns once more
				var seen []string
				require.NoError(t, manager.Iterate(t.Context(), func(ctx context.Context) error {
					seen = append(seen, manager.GetString(ctx, "cart"))
					return manager.Destroy(ctx)
				}))
				require.Equal(t, []string{"pen"}, seen)
				require.Empty(t, eve("/get?k=cart"))
			}
			var live int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM howdah.sessions WHERE user_id IS NULL").Scan(&live))
			require.LessOrEqual(t, live, 1)
		})
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db, err := howdah.Open(t.Context(), server.NewURL(), nil)
	require.NoError(t, err)
	defer db.Close()
	s := scsstore.New(db)
	require.NoError(t, s.Commit(token, []byte("a"), time.Now().Add(time.Hour)))
	server.Stop("immediate")
	_, found, err := s.Find(token)
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	require.False(t, found)
	require.Error(t, s.Delete(token))
	server.Start()
	data, found, err := s.Find(token)
	require.NoError(t, err)
	require.True(t, found, "an acknowledged commit survives a crash")
	require.Equal(t, "a", string(data))
}

// A write whose connection was lost never undoes one that was acknowledged later, although it
// arrives at PostgreSQL after that.
func TestOlderWriteNeverUndoesAnAcknowledgedOne(t *testing.T) {
	t.Parallel()
	network := pgtest.StartSlowNetwork(t, pgtest.New(t))
	db, err := howdah.Open(t.Context(), network.URL, &howdah.Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s, later := scsstore.New(db), time.Now().Add(time.Hour)
	require.NoError(t, s.Commit(token, []byte("first"), later))

	network.Hold("older")
	answer := make(chan error, 1)
	go func() { answer <- s.Commit(token, []byte("older"), later) }()
	held := <-network.Held
	held.Lose()
	require.ErrorIs(t, <-answer, howdah.ErrUnknownOutcome)
	require.NoError(t, s.Commit(token, []byte("newer"), later))
	held.Arrive()

	data, _, err := s.Find(token)
	require.NoError(t, err)
	require.Equal(t, "newer", string(data))
}
