package session_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// TestStandbys shares one primary and its standbys, as they take a while to
// start; the last test ends the primary.
func TestStandbys(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t)
	c := &cluster{primary: primary, url: primary.NewURL(), standbys: []*pgtest.Server{
		primary.Standby("a"),
		primary.Standby("b", "max_standby_streaming_delay", "0", "hot_standby_feedback", "off"),
	}}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"Serve", testStandbyServes},
		{"StaleIsNotBelieved", testStaleIsNotBelieved},
		{"OwnWritesAreSeen", testOwnWritesAreSeen},
		{"MissesAreBounded", testMissesAreBounded},
		{"RecoveryConflicts", testRecoveryConflicts},
		{"GoAndComeBack", testStandbysGoAndComeBack},
		{"Failover", testFailover},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

type cluster struct {
	primary  *pgtest.Server
	url      string // of the primary
	standbys []*pgtest.Server
}

// replicated are processes that use the cluster.
type replicated struct {
	*cluster
	m     *session.Manager // reads from the given standbys
	other *session.Manager // knows no standby
}

func (c *cluster) open(t testing.TB, o session.Options, standbys ...*pgtest.Server) *replicated {
	t.Helper()
	r := &replicated{cluster: c}
	for _, s := range standbys {
		o.ReadURLs = append(o.ReadURLs, s.URL())
	}
	r.m, _ = openURL(t, c.url, o)
	r.other, _ = openURL(t, c.url, session.Options{MaxPayloadBytes: 1 << 20})
	return r
}

// standby is what the manager says of one.
func (r *replicated) standby(i int) session.StandbyStats { return r.m.Stats().Standbys[i] }

// inUse awaits that the manager reads from the standby.
func (r *replicated) inUse(t testing.TB, i int) {
	t.Helper()
	eventually(t, "the standby is used", func() bool { return r.standby(i).Usable })
}

// served awaits that a session is read from standby i.
func (r *replicated) served(t testing.TB, i int, token session.Token) {
	t.Helper()
	before := r.standby(i).Served
	eventually(t, "the session is read from the standby", func() bool {
		get(t, r.m, token)
		return r.standby(i).Served > before
	})
}

// calm keeps what is not the subject out of the way.
func calm(bound time.Duration) session.Options {
	return session.Options{MaxStaleness: bound, FlushInterval: time.Minute, ExpireInterval: time.Hour}
}

func scans(t testing.TB, s *pgtest.Server) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.SuperURL())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'session_pkey'").Scan(&n))
	return n
}

// The standby answers, and the primary hears nothing of it.
func testStandbyServes(t *testing.T, c *cluster) {
	const reads = 2000
	r := c.open(t, calm(10*time.Second), c.standbys[0])
	s := create(t, r.other, session.Start{User: "ada", Payload: []byte(`{"a": 1}`)})
	get(t, r.m, s.Token())
	require.Zero(t, r.standby(0).Served, "Run does not run: nobody knows how old an answer is")
	stop := running(t, r.m)
	r.inUse(t, 0)
	r.served(t, 0, s.Token())
	require.Equal(t, s, get(t, r.m, s.Token()))

	before, served := r.m.Stats(), r.standby(0).Served
	for range reads {
		require.Equal(t, s, get(t, r.m, s.Token()))
	}
	after := r.m.Stats()
	// A machine that stands still for longer than the bound may send some to the primary.
	require.Greater(t, after.Standbys[0].Served-served, int64(reads*9/10))
	require.EqualValues(t, reads-(after.Standbys[0].Served-served), after.PrimaryReads-before.PrimaryReads)
	eventually(t, "the standby has counted the reads", func() bool { return scans(t, r.standbys[0]) > reads*9/10 })
	require.Less(t, scans(t, r.primary), int64(reads/2))

	require.NoError(t, stop())
	require.False(t, r.standby(0).Usable)
	get(t, r.m, s.Token())
}

// A standby whose replay stands still may be believed for as long as the bound
// says, and not for a moment longer.
func testStaleIsNotBelieved(t *testing.T, c *cluster) {
	const bound = 2 * time.Second
	r := c.open(t, calm(bound), c.standbys[0])
	running(t, r.m)
	ended := map[string]func(*session.Session) error{
		"revoked": func(s *session.Session) error { _, err := r.other.Revoke(t.Context(), s.ID); return err },
		"rotated": func(s *session.Session) error {
			_, err := r.other.Rotate(t.Context(), s.Token(), session.Renewal{})
			return err
		},
		"revoked with all of its user": func(s *session.Session) error { _, err := r.other.RevokeUser(t.Context(), "eve"); return err },
	}
	sessions := map[string]*session.Session{}
	for name := range ended {
		sessions[name] = create(t, r.other, session.Start{User: "eve"})
	}
	stays := create(t, r.other, session.Start{User: "ada"})
	for _, s := range sessions {
		r.served(t, 0, s.Token())
	}

	r.standbys[0].PauseReplay()
	acknowledged := map[string]time.Time{}
	for _, name := range []string{"revoked", "rotated", "revoked with all of its user"} {
		require.NoError(t, ended[name](sessions[name]))
		acknowledged[name] = time.Now()
	}
	late := 0
	for len(sessions) > 0 {
		for name, s := range sessions {
			asked := time.Now()
			switch _, err := r.m.Get(t.Context(), s.Token()); {
			case errors.Is(err, session.ErrNotFound):
				delete(sessions, name)
			case err != nil:
				t.Fatal(err)
			case asked.After(acknowledged[name].Add(bound)):
				t.Fatalf("%s: still served to a question %v later", name, asked.Sub(acknowledged[name]))
			default:
				late++
			}
		}
	}
	t.Logf("%d reads of ended sessions within the bound of %v", late, bound)
	require.Equal(t, stays.ID, get(t, r.m, stays.Token()).ID, "from the primary")
	eventually(t, "the standby counts as too far behind", func() bool { get(t, r.m, stays.Token()); return !r.standby(0).Usable })
	served := r.standby(0).Served
	get(t, r.m, stays.Token())
	require.Equal(t, served, r.standby(0).Served)

	r.standbys[0].ResumeReplay()
	r.inUse(t, 0)
	r.served(t, 0, stays.Token())
}

// What this process has done holds at once, however far the standby is behind;
// and what a stale read leads to is a conflict, not a loss.
func testOwnWritesAreSeen(t *testing.T, c *cluster) {
	const bound = 20 * time.Second // the standby is believed all the while
	o := calm(bound)
	o.UserLimit, o.RevokeOldest = 2, true
	r := c.open(t, o, c.standbys[0])
	running(t, r.m)
	r.inUse(t, 0)
	var witness, nobody, rotated, revoked, own, ofUser, oldest, saved *session.Session
	for _, s := range []struct {
		at   **session.Session
		user string
	}{{&witness, "w"}, {&nobody, ""}, {&rotated, "a"}, {&revoked, "b"}, {&own, "c"}, {&ofUser, "d"}, {&oldest, "e"}, {&saved, "f"}} {
		*s.at = create(t, r.other, session.Start{User: s.user})
	}
	for _, s := range []*session.Session{witness, nobody, rotated, revoked, own, ofUser, oldest, saved} {
		r.served(t, 0, s.Token())
	}
	r.standbys[0].PauseReplay()
	defer r.standbys[0].ResumeReplay()

	made := create(t, r.m, session.Start{User: "new"})
	require.Equal(t, "new", get(t, r.m, made.Token()).User)
	next, err := r.m.Rotate(t.Context(), rotated.Token(), session.Renewal{})
	require.NoError(t, err)
	dead(t, r.m, rotated.Token())
	get(t, r.m, next.Token())
	_, err = r.m.Revoke(t.Context(), revoked.ID)
	require.NoError(t, err)
	dead(t, r.m, revoked.Token())
	_, err = r.m.RevokeOwn(t.Context(), "c", own.ID)
	require.NoError(t, err)
	dead(t, r.m, own.Token())
	_, err = r.m.RevokeUser(t.Context(), "d")
	require.NoError(t, err)
	dead(t, r.m, ofUser.Token())
	for range 2 {
		create(t, r.m, session.Start{User: "e"})
	}
	dead(t, r.m, oldest.Token())

	// Another process saves; a stale version is a conflict.
	_, err = r.other.Save(t.Context(), saved.Token(), saved.Version, []byte(`{"theirs": 1}`))
	require.NoError(t, err)
	stale := get(t, r.m, saved.Token())
	require.Equal(t, saved.Version, stale.Version, "the standby does not know yet")
	_, err = r.m.Save(t.Context(), saved.Token(), stale.Version, []byte(`{"mine": 1}`))
	require.ErrorIs(t, err, session.ErrConflict)
	patched, err := r.m.Patch(t.Context(), saved.Token(), func(old []byte) ([]byte, error) {
		require.JSONEq(t, `{"theirs": 1}`, string(old))
		return []byte(`{"theirs": 1, "mine": 1}`), nil
	})
	require.NoError(t, err)
	require.Equal(t, patched.Version, get(t, r.m, saved.Token()).Version)
	payload, _, err := r.m.Merge(t.Context(), saved.Token(), map[string]json.RawMessage{"more": json.RawMessage("1")})
	require.NoError(t, err)
	require.Equal(t, payload, get(t, r.m, saved.Token()).Payload)

	// For all others the standby was asked all the while.
	r.served(t, 0, witness.Token())
	r.served(t, 0, nobody.Token())
	require.Zero(t, r.standby(0).Stale)
}

// forged is a token that nobody made.
func forged(t testing.TB) session.Token {
	t.Helper()
	raw := make([]byte, 48)
	rand.Read(raw)
	raw[6], raw[8] = raw[6]&0x0f|0x70, raw[8]&0x3f|0x80
	token, err := session.ParseToken(base64.RawURLEncoding.EncodeToString(raw))
	require.NoError(t, err)
	return token
}

// Every miss is asked of the primary; a flood of them is not, and is nobody's
// logout.
func testMissesAreBounded(t *testing.T, c *cluster) {
	const rate = 10
	o := calm(10 * time.Second)
	o.MissRate = rate
	r := c.open(t, o, c.standbys[0])
	running(t, r.m)
	s := create(t, r.other, session.Start{User: "ada"})
	r.standbys[0].AwaitReplay(r.primary) // each miss would be one of the rate
	r.inUse(t, 0)
	r.served(t, 0, s.Token())
	require.Zero(t, r.standby(0).Missed)

	// Not there yet, as far as the standby knows.
	r.standbys[0].PauseReplay()
	young := create(t, r.other, session.Start{User: "eve"})
	require.Equal(t, "eve", get(t, r.m, young.Token()).User)
	require.NotZero(t, r.standby(0).Missed)
	r.standbys[0].ResumeReplay()
	r.inUse(t, 0)

	r.standbys[0].AwaitReplay(r.primary)
	before, begun := r.m.Stats(), time.Now()
	var refused, doubted int64
	for doubted < 200 {
		switch _, err := r.m.Get(t.Context(), forged(t)); {
		case errors.Is(err, session.ErrNotFound):
			refused++
		case errors.Is(err, howdah.ErrOverloaded):
			require.NotErrorIs(t, err, session.ErrNotFound)
			doubted++
		default:
			t.Fatal(err)
		}
	}
	after := r.m.Stats()
	require.Equal(t, doubted, after.Doubted-before.Doubted)
	misses := after.Standbys[0].Missed - before.Standbys[0].Missed - doubted
	require.LessOrEqual(t, float64(misses), rate+time.Since(begun).Seconds()*rate+1)
	require.Equal(t, refused, after.Unknown-before.Unknown)

	// In the midst of it those who are logged in are served, and a page for
	// whom nobody knows says so.
	server := site(t, r.m, map[string]http.HandlerFunc{"/who": func(w http.ResponseWriter, r *http.Request) {
		session.From(r.Context()).User() // whatever comes of it
	}})
	client := browser(t, server)
	require.Eventually(t, func() bool {
		for range 50 {
			r.m.Get(t.Context(), forged(t))
		}
		request, err := http.NewRequest("GET", server.URL+"/who", nil)
		require.NoError(t, err)
		request.AddCookie(&http.Cookie{Name: "__Host-session", Value: forged(t).Reveal()})
		resp, err := client.Do(request)
		require.NoError(t, err)
		resp.Body.Close()
		require.Empty(t, resp.Cookies())
		return resp.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, time.Millisecond)
	r.served(t, 0, s.Token())
}

// A standby that goes, comes back, or cancels reads costs no reader anything.
func testStandbysGoAndComeBack(t *testing.T, c *cluster) {
	r := c.open(t, calm(2*time.Second), c.standbys...)
	running(t, r.m)
	s := create(t, r.other, session.Start{User: "ada"})
	r.served(t, 0, s.Token())
	r.served(t, 1, s.Token())

	for _, end := range []func(){r.standbys[0].Kill, func() { r.standbys[0].Stop("fast") }} {
		end()
		for range 100 {
			get(t, r.m, s.Token())
		}
		// A look that was answered just before may say once more that it is.
		eventually(t, "the standby is not used", func() bool { get(t, r.m, s.Token()); return !r.standby(0).Usable })
		r.served(t, 1, s.Token()) // the other one goes on
		r.standbys[0].Start()
		r.inUse(t, 0)
		r.served(t, 0, s.Token())
	}
	for _, standby := range r.standbys {
		standby.Stop("fast")
	}
	for range 100 {
		get(t, r.m, s.Token())
	}
	require.NotZero(t, r.standby(0).Failed+r.standby(1).Failed)
	for _, standby := range r.standbys {
		standby.Start()
	}
}

// What the recovery of the standby cancels is asked again of the primary.
func testRecoveryConflicts(t *testing.T, c *cluster) {
	o := calm(10 * time.Second)
	r := c.open(t, o, c.standbys[1])
	running(t, r.m)
	// Long enough a payload that the read of it is under way for a while.
	s := create(t, r.other, session.Start{Payload: make([]byte, 1<<20)})
	r.served(t, 0, s.Token())
	admin, err := pgx.Connect(t.Context(), r.primary.SuperURL())
	require.NoError(t, err)
	defer admin.Close(context.Background())
	deadline := time.Now().Add(time.Minute)
	for r.standby(0).Conflicts == 0 {
		require.True(t, time.Now().Before(deadline), "no read met the recovery: %+v", r.standby(0))
		together(4, func(i int) {
			if i == 0 {
				// Rows die and are removed: no older snapshot may live on.
				_, err := admin.Exec(t.Context(), "UPDATE howdah.session SET last_seen_at = statement_timestamp()")
				require.NoError(t, err)
				_, err = admin.Exec(t.Context(), "VACUUM howdah.session")
				require.NoError(t, err)
				return
			}
			for range 20 {
				get(t, r.m, s.Token())
			}
		})
	}
	require.NotZero(t, r.m.Stats().PrimaryReads)
}
