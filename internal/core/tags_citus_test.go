//go:build citus

package core

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// movedLoads is a cache whose partition of a key is at one worker, which is far ahead of the
// other one in the numbers of its transactions.
type movedLoads struct {
	c           *pgtest.Citus
	cache       *Cache
	number      int
	ahead, late *pgtest.Server
}

func newMovedLoads(t *testing.T, key string) *movedLoads {
	t.Helper()
	m := &movedLoads{c: pgtest.StartCitus(t, 2)}
	m.c.Role("app")
	m.c.Divide(2)
	db := openPlaced(t, pgtest.AsRole(m.c.Coordinator().URL(), "app"))
	m.cache, m.number = db.Cache("db0"), db.partitions.of([]byte(key))
	m.ahead, m.late = m.c.Nodes()[1], m.c.Nodes()[2]
	const burn = "DO $$ BEGIN FOR i IN 1..10000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
	_, err := m.session(t, m.ahead).Exec(t.Context(), burn)
	require.NoError(t, err)
	m.moveTo(m.ahead)
	return m
}

func (m *movedLoads) session(t *testing.T, at *pgtest.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// xid is the next number of a transaction.
func (m *movedLoads) xid(t *testing.T, at *pgtest.Server) (xid int64) {
	t.Helper()
	require.NoError(t, m.session(t, at).QueryRow(t.Context(), "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&xid))
	return xid
}

func (m *movedLoads) moveTo(node *pgtest.Server) {
	if m.c.Holder(m.number) != node {
		m.c.Move(m.number, node)
	}
}

// claim wins the lease of a key. Its token goes through the text that clients get.
func (m *movedLoads) claim(t *testing.T, key string) fetch.Token {
	t.Helper()
	claim := fetchStore{m.cache}.Claim(t.Context(), []string{key}, time.Minute)[0]
	require.NoError(t, claim.Err)
	require.True(t, claim.Won)
	return throughText(t, claim.Token)
}

func throughText(t *testing.T, token fetch.Token) (parsed fetch.Token) {
	t.Helper()
	var err error
	parsed.Version, parsed.Snapshot, err = verb.ParseToken(verb.FormatToken(token.Version, token.Snapshot))
	require.NoError(t, err)
	require.Equal(t, token, parsed)
	return parsed
}

func (m *movedLoads) fulfil(t *testing.T, key string, token fetch.Token, tags ...string) error {
	t.Helper()
	return fetchStore{m.cache}.Fulfil(t.Context(), []fetch.Value{{Lease: fetch.Lease{Key: key, Token: token}, Value: []byte("old"), TTL: time.Hour, Tags: tags}})[0]
}

func (m *movedLoads) invalidate(t *testing.T) {
	t.Helper()
	_, err := m.cache.InvalidateTags(t.Context(), []string{"t"})
	require.NoError(t, err)
}

// stores expects that a load that begins now is stored.
func (m *movedLoads) stores(t *testing.T, key string, former fetch.Token) {
	t.Helper()
	require.Equal(t, []bool{true}, fetchStore{m.cache}.Release(t.Context(), []fetch.Lease{{Key: key, Token: former}}))
	require.NoError(t, m.fulfil(t, key, m.claim(t, key), "t"))
}

// What a claim has seen counts the transactions of one server. Where the partition has moved
// since, back too, its load is void.
func TestCitusTagsOfAMovedLoad(t *testing.T) {
	t.Parallel()
	m := newMovedLoads(t, "k")
	for name, move := range map[string]func(t *testing.T){
		"moved": func(t *testing.T) {
			m.moveTo(m.late)
			m.invalidate(t)
		},
		"moved back": func(t *testing.T) {
			m.moveTo(m.late)
			m.invalidate(t)
			m.moveTo(m.ahead)
		},
		"moved without an invalidation": func(*testing.T) { m.moveTo(m.late) },
	} {
		t.Run(name, func(t *testing.T) {
			key := "{k}" + name // of its own: an invalidation also ends the lease of a key that had the tag
			m.moveTo(m.ahead)
			token := m.claim(t, key)
			move(t)
			require.Greater(t, m.xid(t, m.ahead), m.xid(t, m.late), "the snapshot would show every transaction of the other server")
			require.ErrorIs(t, m.fulfil(t, key, token, "t"), fetch.ErrVoided)
			m.stores(t, key, token)
		})
	}
	t.Run("refresh", func(t *testing.T) {
		const key = "{k}refresh"
		m.moveTo(m.ahead)
		require.NoError(t, m.fulfil(t, key, m.claim(t, key), "other"))
		found := fetchStore{m.cache}.Claim(t.Context(), []string{key}, time.Minute)[0]
		token, won, err := fetchStore{m.cache}.Refresh(t.Context(), key, found.Token.Version, time.Minute)
		require.NoError(t, err)
		require.True(t, won)
		m.moveTo(m.late)
		m.invalidate(t)
		require.ErrorIs(t, m.fulfil(t, key, throughText(t, token), "t"), fetch.ErrVoided)
	})
	t.Run("stays", func(t *testing.T) {
		const key = "{k}stays"
		token := m.claim(t, key)
		m.invalidate(t)
		require.ErrorIs(t, m.fulfil(t, key, token, "t"), fetch.ErrVoided)
		m.stores(t, key, token)
	})
	t.Run("from elsewhere", func(t *testing.T) { // such as from a function of SQL
		const key = "{k}from elsewhere"
		token := m.claim(t, key)
		_, bare := verb.SplitSnapshot(token.Snapshot)
		require.ErrorIs(t, m.fulfil(t, key, fetch.Token{Version: token.Version, Snapshot: bare}, "t"), fetch.ErrVoided)
		require.NoError(t, m.fulfil(t, key, token, "t"))
	})
	t.Run("without tags", func(t *testing.T) {
		const key = "{k}without tags"
		m.moveTo(m.ahead)
		token := m.claim(t, key)
		m.moveTo(m.late)
		require.NoError(t, m.fulfil(t, key, token))
	})
}

// A Fetch whose partition moves while it loads gets its value, and the next one stores.
func TestCitusFetchWithTagsAcrossAMove(t *testing.T) {
	t.Parallel()
	const key = "k"
	m := newMovedLoads(t, key)
	load := func(value string, during func()) (loaded bool) {
		t.Helper()
		got, err := m.cache.Fetch(t.Context(), key, time.Hour, func(context.Context) ([]byte, error) {
			loaded = true
			during()
			return []byte(value), nil
		}, FetchOptions{Tags: []string{"t"}, Lease: time.Minute, Timeout: time.Minute})
		require.NoError(t, err)
		require.NotEmpty(t, got)
		return loaded
	}
	idle := func() {}
	require.True(t, load("old", func() {
		m.moveTo(m.late)
		m.invalidate(t)
	}))
	require.True(t, load("new", idle), "the old value was stored")
	require.False(t, load("newer", idle), "the new value was not stored")
}
