package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// acknowledged is what one writer was told. What failed may or may not have
// happened, and counts for nothing.
type acknowledged struct {
	alive, dead []session.Token
	writes      atomic.Int64
}

// write makes, rotates and revokes sessions until ctx ends, and goes on after
// errors.
func (a *acknowledged) write(ctx context.Context, t *testing.T, m *session.Manager, user string) {
	ok := func(err error) bool {
		if errors.Is(err, session.ErrNotFound) {
			t.Errorf("a live session is taken for none: %v", err)
		}
		if err == nil {
			a.writes.Add(1)
		}
		return err == nil
	}
	for i := 0; ctx.Err() == nil; i++ {
		s, err := m.Create(ctx, session.Start{User: user, Payload: []byte("{}")})
		if !ok(err) {
			continue
		}
		switch i % 3 {
		case 0:
			a.alive = append(a.alive, s.Token())
		case 1:
			if next, err := m.Rotate(ctx, s.Token(), session.Renewal{}); ok(err) {
				a.alive, a.dead = append(a.alive, next.Token()), append(a.dead, s.Token())
			}
		case 2:
			if ended, err := m.Revoke(ctx, s.ID); ok(err) && ended {
				a.dead = append(a.dead, s.Token())
			}
		}
	}
}

// lives asks until there is an answer.
func lives(t *testing.T, m *session.Manager, token session.Token) (yes bool) {
	t.Helper()
	eventually(t, "the database answers", func() bool {
		_, err := m.Get(t.Context(), token)
		yes = err == nil
		return yes || errors.Is(err, session.ErrNotFound)
	})
	return yes
}

// The primary dies, its synchronous standby takes over, and another standby is
// left behind: nothing that was acknowledged is lost or comes back, nobody is
// logged out meanwhile, and the one left behind is not believed.
func testFailover(t *testing.T, c *cluster) {
	const bound = time.Second
	heir, leftBehind := c.standbys[0], c.standbys[1]
	c.primary.Synchronous(heir)
	url := pgtest.Hosts(c.primary, heir)
	open := func() *session.Manager {
		db, err := howdah.Open(t.Context(), url, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		m, err := session.New(db, &session.Options{MaxStaleness: bound, ReadURLs: []string{heir.URL(), leftBehind.URL()}, Timeout: 5 * time.Second})
		require.NoError(t, err)
		running(t, m)
		return m
	}
	m := open()
	stays, doomed := create(t, m, session.Start{User: "stays"}), create(t, m, session.Start{User: "doomed"})
	eventually(t, "both standbys serve", func() bool {
		for _, s := range []*session.Session{stays, doomed} {
			if _, err := m.Get(t.Context(), s.Token()); err != nil {
				return false
			}
		}
		s := m.Stats().Standbys
		return s[0].Served > 2 && s[1].Served > 2
	})

	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var told [4]acknowledged
	for i := range told {
		writers.Go(func() { told[i].write(ctx, t, m, fmt.Sprint("user", i)) })
	}
	writers.Go(func() { // a reader: an error perhaps, but never logged out
		for ctx.Err() == nil {
			if _, err := m.Get(ctx, stays.Token()); errors.Is(err, session.ErrNotFound) {
				t.Error("a live session is taken for none")
			}
		}
	})
	before := m.Stats().Created
	eventually(t, "the writers are at work", func() bool { return m.Stats().Created > before+50 })

	c.primary.Kill()
	died := time.Now()
	heir.Promote()
	promoted := time.Now()
	// No standby follows: there is no more to be synchronous with.
	written := func() (n [len(told)]int64) {
		for i := range told {
			n[i] = told[i].writes.Load()
		}
		return n
	}
	atDeath := written()
	eventually(t, "a writer finds the new primary", func() bool { return written() != atDeath })
	first := time.Now()
	eventually(t, "all writers are back at work", func() bool {
		for i, n := range written() {
			if n <= atDeath[i]+10 {
				return false
			}
		}
		return true
	})
	t.Logf("the promotion took %v, the first write came %v after it", promoted.Sub(died), first.Sub(promoted))
	_, err := m.Revoke(t.Context(), doomed.ID)
	require.NoError(t, err)
	stop()
	writers.Wait()

	// What was acknowledged holds, as the new primary says and as this process
	// and a fresh one say.
	fresh := open()
	var alive, dead int
	for _, m := range []*session.Manager{m, fresh} {
		for i := range told {
			a := &told[i]
			for _, token := range a.alive {
				require.True(t, lives(t, m, token), "lost")
				alive++
			}
			for _, token := range a.dead {
				require.False(t, lives(t, m, token), "resurrected")
				dead++
			}
		}
	}
	require.Greater(t, alive, 50)
	require.Greater(t, dead, 50)
	t.Logf("%d acknowledged sessions alive, %d tokens dead", alive/2, dead/2)

	// The standby of the old primary has the revoked session still. It shows
	// old heartbeats, or none.
	eventually(t, "the one left behind is not believed", func() bool {
		require.False(t, lives(t, m, doomed.Token()))
		return !m.Stats().Standbys[1].Usable && !fresh.Stats().Standbys[1].Usable
	})
	served := m.Stats().Standbys[1].Served
	for range 50 {
		require.True(t, lives(t, m, stays.Token()))
	}
	require.Equal(t, served, m.Stats().Standbys[1].Served)
}
