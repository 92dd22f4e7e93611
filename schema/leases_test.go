package schema_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// claimed is a row of howdah.claim.
type claimed struct {
	State   string
	Value   *string
	Token   *int64
	Won     bool
	Left    bool // there is a lease, or a known absence, of up to an hour
	Expired bool
}

func claim(t *testing.T, db querier, key string) (c claimed) {
	t.Helper()
	require.NoError(t, db.QueryRow(ctx(t), `
		SELECT state, value, token, won, coalesce(lease_left > '59 minutes' AND lease_left <= '1 hour', false), coalesce(expired > '0', false)
		FROM howdah.claim_text('c', $1, '1 hour')`, key).Scan(&c.State, &c.Value, &c.Token, &c.Won, &c.Left, &c.Expired))
	return c
}

// wins claims a key and returns the token.
func wins(t *testing.T, db querier, key string) int64 {
	t.Helper()
	c := claim(t, db, key)
	require.Equal(t, claimed{State: "won", Token: c.Token, Won: true, Left: true}, c)
	return *c.Token
}

// A claim that waits has an old timestamp, which may be that of another claim, whose
// row was removed meanwhile. Their tokens differ even so. All statements of one
// message have one timestamp.
func TestTokensOfOneMoment(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, "PREPARE c AS "+schema.Statement("claim", schema.Table{Name: table(t, db, "c")}))
	const claims = 20
	results, err := conn.Conn().PgConn().Exec(ctx(t), strings.Repeat(
		"BEGIN; EXECUTE c ('{1}', '{k}', '{1000000}', false); COMMIT; BEGIN; DELETE FROM "+table(t, db, "c")+"; COMMIT;", claims)).ReadAll()
	require.NoError(t, err)
	tokens := map[string]bool{}
	for _, r := range results {
		if len(r.Rows) > 0 {
			require.Equal(t, "t", string(r.Rows[1][9]), "won")
			tokens[string(r.Rows[1][3])] = true
		}
	}
	require.Len(t, tokens, claims)
	now := one[int64](t, db, "SELECT howdah_internal._clock()")
	for token := range tokens {
		version, err := strconv.ParseInt(token, 10, 64)
		require.NoError(t, err)
		require.Less(t, version, now-8*365*24*time.Hour.Microseconds(), "a value may have had this version moments ago")
		require.Positive(t, version)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	db := open(t)
	token := wins(t, db, "k")
	require.Equal(t, claimed{State: "lost", Left: true}, claim(t, db, "k"))
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_text('c', 'k')"))
	require.Nil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, 'v')", token-1))
	require.Nil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'l', $1, 'v')", token))
	version := one[int64](t, db, "SELECT howdah.fulfil_text('c', 'k', $1, 'v', '1 hour', '1 hour')", token)
	require.Greater(t, version, token)
	require.Nil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, 'v')", token))
	value := "v"
	require.Equal(t, claimed{State: "hit", Value: &value, Token: &version}, claim(t, db, "k"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl('c', 'k') BETWEEN '59 minutes' AND '1 hour'"))

	run(t, db, "UPDATE "+table(t, db, "c")+" SET expires_at = statement_timestamp() - interval '1 minute' WHERE key = 'k'")
	require.Equal(t, claimed{State: "stale", Value: &value, Token: &version, Won: true, Left: true, Expired: true}, claim(t, db, "k"))
	require.Equal(t, claimed{State: "stale", Value: &value, Token: &version, Left: true, Expired: true}, claim(t, db, "k"))
	require.True(t, one[bool](t, db, "SELECT howdah.release_text('c', 'k', $1)", version))
	require.False(t, one[bool](t, db, "SELECT howdah.release('c', 'k', $1)", version))
	require.True(t, claim(t, db, "k").Won)

	absent := one[int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, NULL, '1 hour')", version)
	require.Equal(t, claimed{State: "absent", Left: true}, claim(t, db, "k"))
	require.Nil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, 'v')", version))
	require.Greater(t, absent, version)
	run(t, db, "SELECT howdah.delete('c', 'k')")
	token = wins(t, db, "k")
	require.True(t, one[bool](t, db, "SELECT howdah.release('c', 'k', $1)", token))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")))

	// Another key has the slot: a live one keeps it, an expired one gives way.
	plant(t, db, "c", "k", "other", "v")
	require.Equal(t, claimed{State: "unleased"}, claim(t, db, "k"))
	run(t, db, "UPDATE "+table(t, db, "c")+" SET expires_at = '-infinity', leased_until = 'infinity'")
	require.Equal(t, claimed{State: "unleased"}, claim(t, db, "k"))
	run(t, db, "UPDATE "+table(t, db, "c")+" SET leased_until = '-infinity', version = 7")
	require.NotEqual(t, 7, wins(t, db, "k"), "the token of the other key's lease is void")

	// What is known to be absent for ever has a time that is left, in every version of PostgreSQL.
	run(t, db, "SELECT howdah.fulfil('c', 'never', (SELECT token FROM howdah.claim('c', 'never')), NULL, howdah.no_expiry())")
	require.Equal(t, "absent true", one[string](t, db, "SELECT state || ' ' || (lease_left = howdah.no_expiry()) FROM howdah.claim('c', 'never')"))

	for _, call := range []string{"claim('c', 'k', '0 s')", "claim('c', 'k', '-1 s')", "claim('c', 'k', NULL)", "fulfil('c', 'k', 1, NULL)",
		"fulfil('c', 'k', 1, 'v', '1 s', '-1 s')", "fulfil('c', 'k', 1, 'v', '-1 s')"} {
		refused(t, db, "HW009", "SELECT howdah."+call)
	}
	for _, call := range []string{"claim('c', NULL)", "fulfil('c', NULL, 1, 'v')", "fulfil('c', 'k', NULL, 'v')", "release('c', NULL, 1)"} {
		refused(t, db, "HW012", "SELECT howdah."+call)
	}
	require.False(t, one[bool](t, db, "SELECT howdah.release('c', 'k', NULL)"))
}

// A full cache grants no lease, and serves what it has.
func TestAFullCacheGrantsNoLease(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.fulfil('c', 'k', (SELECT token FROM howdah.claim('c', 'k')), 'v', '1 h', '1 h')")
	token := wins(t, db, "l")
	run(t, db, "UPDATE howdah_internal.cache SET full_since = now() WHERE name = 'c'")
	require.Equal(t, "unleased", claim(t, db, "m").State)
	require.Equal(t, "lost", claim(t, db, "l").State)
	require.Equal(t, "hit", claim(t, db, "k").State)
	run(t, db, "UPDATE "+table(t, db, "c")+" SET expires_at = statement_timestamp() - interval '1 minute' WHERE key = 'k'")
	stale := claim(t, db, "k")
	require.Equal(t, "stale", stale.State)
	require.False(t, stale.Won)
	refused(t, db, "HW011", "SELECT howdah.fulfil('c', 'l', $1, 'v')", token)
	require.True(t, one[bool](t, db, "SELECT howdah.release('c', 'l', $1)", token))
}

// leaseSteps say of each function that writes entries what it does to a load that
// is under way: of the absent key "k" or, if live, of its entry. A function that is
// not here fails the test.
var leaseSteps = map[string][]struct {
	live, keeps bool
	call        string
}{
	"add":             {{false, false, "add('c', 'k', '2')"}, {true, true, "add('c', 'k', '2')"}},
	"claim":           {{false, true, "claim('c', 'k')"}, {true, true, "claim('c', 'k')"}},
	"compare_and_set": {{false, false, "compare_and_set('c', 'k', 0, '2')"}, {true, false, "compare_and_set('c', 'k', version_of('k'), '2')"}},
	"delete":          {{false, false, "delete('c', 'k')"}, {true, false, "delete('c', 'k')"}},
	"delete_many":     {{false, false, "delete_many('c', '{k,l}')"}, {true, false, "delete_many('c', '{k,l}')"}},
	"delete_prefix":   {{false, false, "delete_prefix('c', 'k')"}, {true, false, "delete_prefix('c', 'k')"}},
	"expire":          {{true, false, "expire('c', 'k', '1 h')"}, {false, true, "expire('c', 'k', '1 h')"}},
	"flush":           {{false, false, "flush('c')"}, {true, false, "flush('c')"}},
	"fulfil":          {{false, false, "fulfil('c', 'k', version_of('k'), '2')"}, {true, false, "fulfil('c', 'k', version_of('k'), NULL, '1 h')"}},
	"get_and_delete":  {{false, false, "get_and_delete('c', 'k')"}, {true, false, "get_and_delete('c', 'k')"}},
	"increment":       {{false, false, "increment('c', 'k')"}, {true, false, "increment('c', 'k')"}},
	"maintain":        {{false, true, "maintain('c')"}, {true, true, "maintain('c')"}},
	"persist":         {{true, false, "persist('c', 'k')"}},
	"release":         {{false, false, "release('c', 'k', version_of('k'))"}, {true, true, "release('c', 'k', version_of('k'))"}},
	"replace":         {{true, false, "replace('c', 'k', '2')"}, {false, true, "replace('c', 'k', '2')"}},
	"set":             {{false, false, "set('c', 'k', '2')"}, {true, false, "set('c', 'k', '2')"}},
	"set_json":        {{false, false, "set_json('c', 'k', '2')"}},
	"set_many":        {{false, false, "set_many('c', '{k}', '{2}')"}, {true, false, "set_many('c', '{k}', '{2}')"}},
	"invalidate_tag":  {{true, true, "invalidate_tag('c', 'other')"}},
	"invalidate_tags": {{true, true, "invalidate_tags('c', '{other}')"}}, // TestInvalidationAndStoreInEveryOrder has the rest
	"set_tagged":      {{false, false, "set_tagged('c', 'k', '2', '{t}')"}, {true, false, "set_tagged('c', 'k', '2', '{t}')"}},
	"touch":           {{true, true, "touch('c', 'k', '1 h')"}},
	// They change caches, not entries.
	"alter_cache": nil, "create_cache": nil, "create_database": nil, "drop_cache": nil, "grant_runtime": nil, "revoke_runtime": nil,
	"swap_caches":    nil, // the leases go with the entries
	"unwatch_table":  nil, // TestLoadsFromBeforeTheCommitAreVoid says what a watch does
	"watch_table":    nil,
	"publish":        nil,
	"invalidate_all": nil, // of copies in memory: entries stay as they are
}

// Whatever changes a key or removes it ends the right of a load that began before
// to store, and leaves no caller waiting for that load.
func TestWhatVoidsALease(t *testing.T) {
	t.Parallel()
	db := open(t)
	versionOf(t, db, "c")
	for _, name := range all[string](t, db, `
		SELECT proname::text FROM pg_proc
		WHERE pronamespace = 'howdah'::regnamespace AND provolatile = 'v' AND proname !~ '^session|_text$'`) {
		steps, known := leaseSteps[name]
		require.True(t, known, "say in leaseSteps what the function %s does to a lease", name)
		for _, s := range steps {
			run(t, db, "SELECT howdah.delete('c', 'k')")
			token := wins(t, db, "k")
			if s.live {
				token = one[int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, '1', '1 h')", token)
				run(t, db, "UPDATE "+table(t, db, "c")+" SET leased_until = statement_timestamp() + interval '1 h' WHERE key = 'k'")
			}
			run(t, db, "SELECT howdah."+s.call)
			if !s.keeps {
				c := claim(t, db, "k")
				require.True(t, c.Won || !c.Left || c.State == "absent", "%s leaves the lease: %v", s.call, c)
			}
			stored := one[*int64](t, db, "SELECT howdah.fulfil('c', 'k', $1, 'loaded')", token)
			require.Equal(t, s.keeps, stored != nil, "%s, live: %v", s.call, s.live)
		}
	}
}

// One of many that claim a key at once loads it.
func TestOneOfManyClaims(t *testing.T) {
	t.Parallel()
	db := open(t)
	const callers = 50
	for round, prepare := range []func(){
		func() {},
		func() { wins(t, db, "k"); run(t, db, "UPDATE "+table(t, db, "c")+" SET leased_until = '-infinity'") },
		func() { run(t, db, "SELECT howdah.set('c', 'k', '1')"); expireNow(t, db, "c", "k") },
		func() { plant(t, db, "c", "k", "other", "1"); expireNow(t, db, "c", "other") },
	} {
		run(t, db, "SELECT howdah.flush('c')")
		prepare()
		var winners atomic.Int64
		together(t, callers, func(ctx context.Context, _ int) error {
			var c claimed
			err := db.QueryRow(ctx, "SELECT state, won FROM howdah.claim('c', 'k', '1 h')").Scan(&c.State, &c.Won)
			if c.Won {
				winners.Add(1)
			} else if err == nil && c.State != "lost" && c.State != "unleased" { // unleased: it waited too long for the row
				err = fmt.Errorf("neither won nor lost: %s", c.State)
			}
			return err
		})
		require.EqualValues(t, 1, winners.Load(), "round %d", round)
	}
}

// The race that breaks cache-aside, in each order: a transaction changes a row and
// removes what was made from it; somebody loads the row before it commits.
func TestNothingOldIsStored(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "CREATE TABLE source (value text)")
	for _, remove := range []string{"delete('c', 'k')", "delete_many('c', '{j,k,l}')", "get_and_delete('c', 'k')", "set('c', 'k', 'new')"} {
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			for _, first := range []string{"claim", "removal"} {
				for _, was := range []string{"absent", "claimed before", "live", "expired"} {
					t.Run(strings.Join([]string{remove, end, first, was}, ", "), func(t *testing.T) {
						nothingOld(t, db, remove, end, first, was)
					})
				}
			}
		}
	}
}

func nothingOld(t *testing.T, db *pgxpool.Pool, remove, end, first, was string) {
	run(t, db, "SELECT howdah.flush('c')")
	switch was {
	case "claimed before":
		wins(t, db, "k")
		run(t, db, "UPDATE "+table(t, db, "c")+" SET leased_until = '-infinity'")
	case "live", "expired":
		run(t, db, "SELECT howdah.set('c', 'k', 'old')")
	}
	if was == "expired" {
		expireNow(t, db, "c", "k")
	}
	run(t, db, "TRUNCATE source")
	run(t, db, "INSERT INTO source VALUES ('old')")

	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "UPDATE source SET value = 'new'")
	if first == "removal" {
		run(t, tx, "SELECT howdah."+remove)
	}
	c := claim(t, db, "k")
	loaded := one[string](t, db, "SELECT value FROM source")
	require.Equal(t, "old", loaded)
	if first == "claim" {
		run(t, tx, "SELECT howdah."+remove)
	}
	run(t, tx, end)
	switch {
	case c.State == "hit":
		require.Equal(t, "live", was)
	case c.Won:
		stored := one[*int64](t, db, "SELECT howdah.fulfil_text('c', 'k', $1, $2)", *c.Token, loaded)
		require.Equal(t, end == "ROLLBACK", stored != nil)
		require.Equal(t, "claim", first, "a claim behind a removal waits for its end")
	default:
		require.Equal(t, "unleased", c.State)
		require.Equal(t, "removal", first)
	}
	if end == "COMMIT" {
		require.NotEqual(t, "old", one[string](t, db, "SELECT coalesce(howdah.get_text('c', 'k'), '')"))
	}
	if after := claim(t, db, "k"); after.State != "hit" {
		require.True(t, after.Won, "no caller waits for the load that was voided: %v", after)
	}
}

// A claim waits for a transaction that is removing its key, not for long, and one
// that ends in time lets it go on.
func TestAClaimWaitsForARemoval(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, remove := range []string{"delete('c', 'k')", "delete_many('c', '{k}')", "get_and_delete('c', 'k')"} {
		run(t, db, "SELECT howdah.flush('c')")
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, "SELECT howdah."+remove)
		require.Zero(t, one[int](t, tx, "SELECT count(*) FROM "+table(t, db, "c")), "it leaves nothing")
		require.Equal(t, "unleased", claim(t, db, "k").State)
		require.NoError(t, tx.Commit(ctx(t)))
		wins(t, db, "k")
	}
}

// A snapshot that is older than the claim may show what was void before it: under
// REPEATABLE READ no caller gets a lease.
func TestNoLeaseUnderRepeatableRead(t *testing.T) {
	t.Parallel()
	db := open(t)
	for level, want := range map[string]string{"READ COMMITTED": "won", "REPEATABLE READ": "unleased", "SERIALIZABLE": "unleased"} {
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, "SET TRANSACTION ISOLATION LEVEL "+level)
		require.Equal(t, want, claim(t, tx, "k").State, level)
		require.NoError(t, tx.Rollback(ctx(t)))
	}
}

// Under REPEATABLE READ a removal that cannot see the newest row fails, and is
// repeated: it never passes over a claim.
func TestRemovalUnderRepeatableRead(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, remove := range []string{"delete('c', 'k')", "delete_many('c', '{k}')", "get_and_delete('c', 'k')"} {
		run(t, db, "SELECT howdah.flush('c')")
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		run(t, tx, "SELECT 1")
		wins(t, db, "k")
		refused(t, tx, "40001", "SELECT howdah."+remove)
		require.NoError(t, tx.Rollback(ctx(t)))
	}
}

// The statement that the library uses finds, wins and loses in one batch as it does
// key by key.
func TestClaimStatementInOneBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	token := wins(t, db, "stale")
	run(t, db, "SELECT howdah.fulfil('c', 'stale', $1, 'v', '1 h', '1 h')", token)
	run(t, db, "UPDATE "+table(t, db, "c")+" SET expires_at = statement_timestamp() - interval '1 minute'")
	run(t, db, "SELECT howdah.set('c', 'live', 'v'), howdah.claim('c', 'lost', '1 h')")
	plant(t, db, "c", "taken", "another", "v")
	sql := schema.Statement("claim", schema.Table{Name: table(t, db, "c")})
	keys := [][]byte{[]byte("stale"), []byte("live"), []byte("lost"), []byte("taken"), []byte("new")}
	rows, err := db.Query(ctx(t), "WITH keys AS (SELECT array_agg(howdah.key_hash(k) ORDER BY howdah.key_hash(k)) AS h, array_agg(k ORDER BY howdah.key_hash(k)) AS k FROM unnest($1::bytea[]) AS k) SELECT h, k FROM keys", keys)
	require.NoError(t, err)
	var hashes []int64
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&hashes, &keys))
	rows.Close()
	leases := []int64{1e9, 1e9, 1e9, 1e9, 1e9}
	rows, err = db.Query(ctx(t), sql, hashes, keys, leases, false)
	require.NoError(t, err)
	defer rows.Close()
	got := map[string]bool{}
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err)
		if values[0] == nil {
			require.WithinDuration(t, time.Now(), values[8].(time.Time), 24*time.Hour)
			continue
		}
		got[string(values[1].([]byte))] = values[9].(bool)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]bool{"stale": true, "live": false, "lost": false, "another": false, "new": true}, got)
}

// The statements of docs/fetch.md do what the page says.
func TestDocumentedLeases(t *testing.T) {
	t.Parallel()
	db := open(t)
	text, err := os.ReadFile("../docs/fetch.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 2)
	statements := strings.SplitAfter(blocks[0][1], ";\n")
	require.Len(t, statements, 4) // and nothing behind the last
	run(t, db, "CREATE TABLE article (id integer PRIMARY KEY, title text)")
	run(t, db, "INSERT INTO article VALUES (7, 'old')")
	claims := func() (c claimed) {
		require.NoError(t, db.QueryRow(ctx(t), statements[0]).Scan(&c.State, &c.Value, &c.Token, &c.Won))
		return c
	}
	with := func(statement string, c claimed) string { return replaceAll(statement, ":token", fmt.Sprint(*c.Token)) }

	won := claims()
	require.True(t, won.Won)
	require.True(t, one[bool](t, db, with(statements[2], won)))
	won = claims()
	require.True(t, won.Won)
	execute(t, db, blocks[1][1]) // the article changes meanwhile
	require.Nil(t, one[*int64](t, db, with(statements[1], won)))
	won = claims()
	require.True(t, won.Won)
	require.NotNil(t, one[*int64](t, db, with(statements[1], won)))
	require.Equal(t, "new", *claims().Value)
}
