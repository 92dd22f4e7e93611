//go:build citus

package schema_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

const limit = time.Minute

// spread is a cache whose partitions are schemas of a Citus cluster.
type spread struct {
	t       *testing.T
	cluster *pgtest.Citus
	owner   *pgxpool.Pool // on the coordinator
	id      int32

	mu    sync.Mutex
	pools map[int]*pgxpool.Pool // of the application's role, by port
}

// place is where a partition is: the names of its tables there.
type place struct {
	port       int
	shard      int64
	table, tag string
}

func newSpread(t *testing.T, partitions int, durability string) *spread {
	t.Helper()
	s := &spread{t: t, cluster: pgtest.StartCitus(t, 2), pools: map[int]*pgxpool.Pool{}}
	s.cluster.Migrate()
	s.cluster.Role("app")
	for _, node := range s.cluster.Nodes() {
		local := connect(t, pgtest.LocalURL(node.URL()))
		run(t, local, "GRANT USAGE ON SCHEMA howdah_internal TO app")
		run(t, local, "GRANT EXECUTE ON FUNCTION howdah_internal._here(bigint), howdah_internal._present(bigint) TO app")
	}
	s.owner = connect(t, s.cluster.Coordinator().URL())
	require.NoError(t, pgx.BeginFunc(ctx(t), s.owner, func(tx pgx.Tx) error {
		run(t, tx, "SET LOCAL citus.enable_schema_based_sharding = on")
		for p := range partitions {
			run(t, tx, fmt.Sprintf("CREATE SCHEMA howdah_p%02d", p))
			run(t, tx, fmt.Sprintf("GRANT USAGE ON SCHEMA howdah_p%02d TO app", p))
		}
		return nil
	}))
	s.id = 7
	s.create(s.id, durability, partitions)
	return s
}

// create makes the tables of a cache in all partitions, in one transaction:
// each by howdah's own function, and then by a statement of its own into the
// partition. A function cannot do that: what it moves there stays local.
func (s *spread) create(id int32, durability string, partitions int) {
	s.t.Helper()
	require.NoError(s.t, pgx.BeginFunc(ctx(s.t), s.owner, func(tx pgx.Tx) error {
		for p := range partitions {
			run(s.t, tx, `SELECT howdah_internal._create_table(c) FROM (SELECT (json_populate_record(NULL::howdah_internal.cache,
				json_build_object('name', 'spread', 'id', $1::int, 'durability', $2::text, 'fillfactor', 85, 'prefix_index', true))).*) AS c`, id, durability)
			for _, kind := range []string{"cache", "tag"} {
				run(s.t, tx, fmt.Sprintf("ALTER TABLE howdah_internal.%s_%d SET SCHEMA howdah_p%02d", kind, id, p))
				run(s.t, tx, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON howdah_p%02d.%s_%d TO app", p, kind, id))
			}
		}
		return nil
	}))
	s.note(id, durability)
}

// note has all nodes know the shards as those of a cache, which is what they guard.
func (s *spread) note(id int32, durability string) {
	s.t.Helper()
	former := s.id
	s.id = id
	places := s.places(s.owner)
	s.id = former
	for _, node := range s.cluster.Nodes() {
		local := connect(s.t, pgtest.LocalURL(node.URL()))
		for partition, p := range places {
			run(s.t, local, `INSERT INTO howdah_internal.cache (name, whole, partition, id, durability, relation, tag_relation, shard)
				VALUES ($1 || '/' || lpad($2::int::text, 2, '0'), $1, $2::int, $3, $4, $5, $6, $7)`,
				fmt.Sprintf("spread_%d", id), partition, int(id)*100+partition, durability, p.table, p.tag, p.shard)
		}
	}
}

// placesSQL is the whole map of a cache; any node answers it.
const placesSQL = `
SELECT substr(ns.nspname, 9)::int, n.nodeport, c.shardid, format('%I.%I', ns.nspname, 'cache_' || $1 || '_' || c.shardid),
       format('%I.%I', ns.nspname, 'tag_' || $1 || '_' || t.shardid)
FROM pg_dist_schema AS d
JOIN pg_namespace AS ns ON ns.oid = d.schemaid
JOIN pg_dist_shard AS c ON c.logicalrelid = to_regclass(format('%I.%I', ns.nspname, 'cache_' || $1))
JOIN pg_dist_shard AS t ON t.logicalrelid = to_regclass(format('%I.%I', ns.nspname, 'tag_' || $1))
JOIN pg_dist_placement AS p ON p.shardid = c.shardid
JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
WHERE ns.nspname ~ '^howdah_p[0-9]{2}$'
ORDER BY 1`

func (s *spread) places(q querier) map[int]place {
	s.t.Helper()
	rows, err := q.Query(ctx(s.t), placesSQL, fmt.Sprint(s.id))
	require.NoError(s.t, err)
	places := map[int]place{}
	var partition int
	var p place
	_, err = pgx.ForEachRow(rows, []any{&partition, &p.port, &p.shard, &p.table, &p.tag}, func() error {
		places[partition] = p
		return nil
	})
	require.NoError(s.t, err)
	return places
}

// app is a pool of the application's role on the node at a port.
func (s *spread) app(port int) *pgxpool.Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pool := s.pools[port]
	if pool == nil {
		pool = connect(s.t, pgtest.AsRole(s.node(port).URL(), "app"))
		s.pools[port] = pool
	}
	return pool
}

func (s *spread) node(port int) *pgtest.Server {
	for _, node := range s.cluster.Nodes() {
		if strings.Contains(pgtest.TCP(node.URL()), fmt.Sprintf(":%d/", port)) {
			return node
		}
	}
	s.t.Fatalf("no node has port %d", port)
	return nil
}

// move moves a partition to the other worker.
func (s *spread) move(partition int) {
	s.t.Helper()
	run(s.t, s.owner, `SELECT citus_schema_move($1::text::regnamespace, n.nodeid, 'block_writes') FROM pg_dist_node AS n
		WHERE n.groupid <> 0 AND n.nodeport <> $2 ORDER BY n.nodeid LIMIT 1`,
		fmt.Sprintf("howdah_p%02d", partition), s.places(s.owner)[partition].port)
}

const (
	putSQL = `INSERT INTO %s AS t (hash, key, value, version, expires_at)
		SELECT u.h, int8send(u.h), u.v, 1, 'infinity' FROM unnest($1::bigint[], $2::bytea[]) AS u (h, v)
		ON CONFLICT (hash) DO UPDATE SET value = excluded.value, version = t.version + 1`
	lookSQL = "SELECT hash, value FROM %s WHERE hash = ANY ($1::bigint[]) AND (SELECT howdah_internal._present($2))"
)

// put writes with the guard as a statement of its own before the write: one
// round trip, and one transaction.
func (p place) put(t testing.TB, pool *pgxpool.Pool, hashes []int64, values [][]byte) error {
	batch := &pgx.Batch{}
	batch.Queue("SELECT howdah_internal._here($1)", p.shard)
	batch.Queue(fmt.Sprintf(putSQL, p.table), hashes, values)
	return pool.SendBatch(ctx(t), batch).Close()
}

func (p place) look(t testing.TB, pool *pgxpool.Pool, hashes []int64) (map[int64]string, error) {
	rows, err := pool.Query(ctx(t), fmt.Sprintf(lookSQL, p.table), hashes, p.shard)
	if err != nil {
		return nil, err
	}
	found := map[int64]string{}
	var hash int64
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&hash, &value}, func() error {
		found[hash] = string(value)
		return nil
	})
	return found, err
}

// moved tells that a statement came to a node that a partition has left: it is
// marked as away, or the old table is gone.
func moved(err error) bool { return state(err) == "HW099" || state(err) == "42P01" }

// The tables are as howdah makes them, on their nodes under names of their own;
// the application's role uses them there.
func TestCitusTables(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 4, "unlogged")
	places := s.places(s.owner)
	require.Len(t, places, 4)
	for _, node := range s.cluster.Nodes() {
		require.Equal(t, places, s.places(connect(t, pgtest.AsRole(node.URL(), "app"))), "any node, any role")
	}
	for partition, p := range places {
		owner := connect(t, s.node(p.port).URL())
		require.Equal(t, fmt.Sprintf("howdah_p%02d.cache_7_%d", partition, p.shard), p.table)
		conn, err := owner.Acquire(ctx(t))
		require.NoError(t, err)
		defer conn.Release()
		run(t, conn, "SET citus.override_table_visibility = off") // pg_class hides shards otherwise
		for _, name := range []string{p.table, p.tag} {
			require.True(t, one[bool](t, conn, "SELECT relpersistence = 'u' AND 'vacuum_truncate=off' = ANY (reloptions) FROM pg_class WHERE oid = $1::text::regclass", name))
		}
		require.Equal(t, []string{"e0", "e0"}, all[string](t, conn, `SELECT attstorage::text || attstattarget FROM pg_attribute
			WHERE attrelid = $1::text::regclass AND attname IN ('key', 'value')`, p.table))
		require.Equal(t, []string{fmt.Sprintf("cache_7_pkey_%d", p.shard), fmt.Sprintf("cache_7_prefix_%d", p.shard)},
			all[string](t, conn, `SELECT c.relname::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
				WHERE i.indrelid = $1::text::regclass ORDER BY 1`, p.table))

		app := s.app(p.port)
		require.NoError(t, p.put(t, app, []int64{1, 2}, [][]byte{[]byte("a"), []byte("b")}))
		require.Equal(t, map[int64]string{1: "a", 2: "b"}, first(p.look(t, app, []int64{1, 2, 3})))
		refused(t, app, "XX000", "TRUNCATE "+p.table)
		require.NoError(t, pgx.BeginFunc(ctx(t), app, func(tx pgx.Tx) error {
			run(t, tx, "SET LOCAL citus.enable_manual_changes_to_shards = on")
			run(t, tx, "TRUNCATE "+p.table)
			return nil
		}))
		require.Empty(t, first(p.look(t, app, []int64{1, 2, 3})))
		require.Positive(t, one[int64](t, app, "SELECT pg_total_relation_size($1::text::regclass)", p.table))
		run(t, owner, "VACUUM "+p.table)
	}
}

func first(found map[int64]string, err error) map[int64]string {
	if err != nil {
		return map[int64]string{0: err.Error()}
	}
	return found
}

// One view shows all partitions on each node, through Citus: to those who may use
// the partitions. It is made on each node for itself.
func TestCitusViews(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 3, "unlogged")
	var parts, want []string
	for partition, p := range s.places(s.owner) {
		parts = append(parts, fmt.Sprintf("SELECT key, value, expires_at FROM howdah_p%02d.cache_7", partition))
		want = append(want, fmt.Sprint(partition))
		require.NoError(t, p.put(t, s.app(p.port), []int64{int64(partition)}, [][]byte{fmt.Append(nil, partition)}))
	}
	slices.Sort(want)
	for _, node := range s.cluster.Nodes() {
		local := connect(t, pgtest.LocalURL(node.URL()))
		run(t, local, "CREATE VIEW howdah.cache_spread AS SELECT key, value FROM ("+strings.Join(parts, " UNION ALL ")+") AS c WHERE expires_at > statement_timestamp()")
		run(t, local, "GRANT USAGE ON SCHEMA howdah TO app")
		run(t, local, "GRANT SELECT ON howdah.cache_spread TO app")
		for _, url := range []string{node.URL(), pgtest.AsRole(node.URL(), "app")} {
			db := connect(t, url)
			require.Equal(t, want, all[string](t, db, "SELECT convert_from(value, 'UTF8') FROM howdah.cache_spread ORDER BY 1"))
			require.Equal(t, 1, one[int](t, db, "SELECT count(*) FROM howdah.cache_spread WHERE key = int8send(2)"))
		}
	}
	require.Zero(t, one[int](t, s.owner, "SELECT count(*) FROM pg_dist_object WHERE classid = 'pg_namespace'::regclass AND objid = 'howdah'::regnamespace"))
	// A trigger must not be there: with one, Citus plans until the stack is full.
	refused(t, s.owner, "55000", "DELETE FROM howdah.cache_spread")
}

// What a function puts into a partition stays a table of the coordinator alone,
// without an error.
func TestCitusFunctionsMakeLocalTables(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, "unlogged")
	for _, sql := range []string{
		"DO $$ BEGIN CREATE TABLE howdah_p00.made (n int); END $$",
		"DO $$ BEGIN CREATE TABLE howdah_internal.moved (n int); ALTER TABLE howdah_internal.moved SET SCHEMA howdah_p00; END $$",
	} {
		run(t, s.owner, sql)
	}
	require.Equal(t, []string{"howdah_p00.made", "howdah_p00.moved"}, all[string](t, s.owner, `SELECT c.oid::regclass::text FROM pg_class AS c
		WHERE c.relnamespace = 'howdah_p00'::regnamespace AND c.relkind = 'r'
		  AND NOT EXISTS (SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = c.oid) ORDER BY 1`))
}

// Whatever was acknowledged is found after the partition has moved, and moved
// again, while many write and read it.
func TestCitusMovesUnderLoad(t *testing.T) {
	t.Parallel()
	const writers, moves, width = 6, 10, 16
	s := newSpread(t, 2, "unlogged")
	var done atomic.Bool
	var retries, writes atomic.Int64
	ledgers := make([]map[int64]string, writers)
	var wg sync.WaitGroup
	for w := range writers {
		ledgers[w] = map[int64]string{}
		wg.Go(func() {
			if err := s.load(w, w%2, width, ledgers[w], &done, &writes, &retries); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	for i := range moves {
		before := writes.Load()
		s.move(i % 2)
		require.Eventually(t, func() bool { return writes.Load() > before+writers*20 || t.Failed() }, limit, 10*time.Millisecond)
	}
	done.Store(true)
	wg.Wait()
	require.Positive(t, retries.Load(), "no writer met a move")
	places := s.places(s.owner)
	for w, ledger := range ledgers {
		p := places[w%2]
		require.Equal(t, ledger, first(p.look(t, s.app(p.port), slices.Collect(maps.Keys(ledger)))))
	}
	t.Logf("%d writes, %d moves, %d calls sent again", writes.Load(), moves, retries.Load())
}

// load writes and reads hashes of its own until it is told that the others are
// done. The ledger holds what was acknowledged.
func (s *spread) load(w, partition, width int, ledger map[int64]string, done *atomic.Bool, writes, retries *atomic.Int64) error {
	p := s.places(s.owner)[partition]
	for n := 0; !done.Load() && !s.t.Failed(); n++ {
		hashes, values := make([]int64, width), make([][]byte, width)
		for i := range hashes {
			hashes[i] = int64(w)<<32 + int64((n*width+i)%1000)
			values[i] = fmt.Appendf(nil, "%d of %d", n, w)
		}
		for {
			err := p.put(s.t, s.app(p.port), hashes, values)
			var found map[int64]string
			if err == nil {
				for i, hash := range hashes {
					ledger[hash] = string(values[i])
				}
				found, err = p.look(s.t, s.app(p.port), hashes)
			}
			if moved(err) {
				retries.Add(1)
				p = s.places(s.owner)[partition]
				continue
			}
			if err != nil {
				return err
			}
			for _, hash := range hashes {
				if found[hash] != ledger[hash] {
					return fmt.Errorf("hash %d: %q was acknowledged, %q is found", hash, ledger[hash], found[hash])
				}
			}
			break
		}
		writes.Add(1)
	}
	return nil
}

// A transaction of REPEATABLE READ looks for the partition with an old snapshot: it is
// refused. One that says that it holds the partition is told the former place: only another
// connection, asked when the first one holds the lock, knows where the partition is.
func TestCitusOldSnapshots(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, "unlogged")
	p := s.places(s.owner)[0]
	app := s.app(p.port)
	tx, err := app.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT FROM pg_class LIMIT 1")
	s.move(0)
	run(t, tx, "SAVEPOINT s")
	_, err = tx.Exec(ctx(t), "SELECT howdah_internal._here($1)", p.shard)
	require.Equal(t, "HW016", state(err))
	run(t, tx, "ROLLBACK TO s")
	run(t, tx, schema.Statement("hold_place", schema.Table{}), p.shard, 0) // its snapshot is older than the move
	for _, guard := range []string{"_here", "_present"} {
		_, err := app.Exec(ctx(t), "SELECT howdah_internal."+guard+"($1)", p.shard)
		require.Equal(t, "HW099", state(err))
	}
}

// The guard runs with the rights of Howdah's owner, and takes no operator of its caller.
func TestCitusGuardTakesNoOperatorOfItsCaller(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, "async")
	for _, p := range s.places(s.owner) {
		run(t, connect(t, pgtest.LocalURL(pgtest.SuperURL(s.node(p.port).URL()))), "CREATE SCHEMA decoy AUTHORIZATION app")
		tx, err := s.app(p.port).Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, "SET LOCAL citus.enable_ddl_propagation = off; GRANT USAGE ON SCHEMA decoy TO PUBLIC")
		for _, operator := range []string{"=", "<>"} {
			run(t, tx, fmt.Sprintf(`CREATE FUNCTION decoy."eq%[1]s"(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'a decoy as %%', current_user; END $$;
				CREATE OPERATOR decoy.%[1]s (FUNCTION = decoy."eq%[1]s", LEFTARG = text, RIGHTARG = text)`, operator))
		}
		require.NoError(t, tx.Commit(ctx(t)))
		tx, err = s.app(p.port).BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		run(t, tx, "SET LOCAL search_path = decoy, pg_catalog; SET LOCAL howdah.held = 'x'")
		refused(t, tx, "HW016", "SELECT howdah_internal._here($1)", p.shard)
	}
}

// A move waits for a transaction that has found its partition, and a call that
// comes meanwhile learns that it has moved; reads go on.
func TestCitusMovesWaitForTransactions(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, "unlogged")
	p := s.places(s.owner)[0]
	app := s.app(p.port)
	require.NoError(t, p.put(t, app, []int64{1}, [][]byte{[]byte("a")}))
	tx, err := app.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT howdah_internal._here($1)", p.shard)
	var wg sync.WaitGroup
	wg.Go(func() { s.move(0) })
	require.Eventually(t, func() bool {
		return one[bool](t, s.owner, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT citus_schema_move%' AND state = 'active')") &&
			one[bool](t, app, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
	}, limit, 10*time.Millisecond)
	require.Equal(t, map[int64]string{1: "a"}, first(p.look(t, app, []int64{1})), "reads do not wait")
	late := make(chan error, 1)
	wg.Go(func() { late <- p.put(t, app, []int64{1}, [][]byte{[]byte("c")}) })
	run(t, tx, fmt.Sprintf(putSQL, p.table), []int64{1}, [][]byte{[]byte("b")})
	require.NoError(t, tx.Commit(ctx(t)))
	wg.Wait()
	require.True(t, moved(<-late))
	there := s.places(s.owner)[0]
	require.NotEqual(t, p.port, there.port)
	require.Equal(t, p.shard, there.shard)
	require.Equal(t, map[int64]string{1: "b"}, first(there.look(t, s.app(there.port), []int64{1})))
}

// The partitions of a server that died are away, and the others go on. An
// unlogged one is empty when the server is back, or another has taken its place.
func TestCitusFailover(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 2, "unlogged")
	s.create(8, "sync", 2)
	write := func(id int32, partition int) error {
		s.id = id
		p := s.places(s.owner)[partition]
		return p.put(t, s.app(p.port), []int64{1}, [][]byte{[]byte("a")})
	}
	read := func(id int32, partition int) map[int64]string {
		s.id = id
		p := s.places(s.owner)[partition]
		return first(p.look(t, s.app(p.port), []int64{1}))
	}
	if places := s.places(s.owner); places[0].port == places[1].port {
		s.move(0)
	}
	port := s.places(s.owner)[0].port
	dies := s.node(port)
	standby := dies.Standby("follower")
	for _, id := range []int32{7, 8} {
		require.NoError(t, write(id, 0))
		require.NoError(t, write(id, 1))
	}
	dies.Kill()
	require.NoError(t, write(7, 1))
	require.Error(t, write(7, 0))
	_, err := s.owner.Exec(ctx(t), "ALTER TABLE howdah_p00.cache_7 SET (fillfactor = 80)")
	require.Error(t, err, "nothing distributed can be changed while a node is away")
	dies.Start()
	require.Empty(t, read(7, 0))
	require.Equal(t, map[int64]string{1: "a"}, read(7, 1))
	require.Equal(t, map[int64]string{1: "a"}, read(8, 0))

	require.NoError(t, write(7, 0))
	require.NoError(t, write(8, 0))
	standby.AwaitReplay(dies)
	dies.Kill()
	standby.Promote()
	s.cluster.Replace(dies, standby)
	require.NotEqual(t, port, s.places(s.owner)[0].port)
	require.Empty(t, read(7, 0))
	require.Equal(t, map[int64]string{1: "a"}, read(8, 0))
	require.NoError(t, write(7, 0))
	// Citus' own process tells the new node of the others.
	require.Eventually(t, func() bool {
		_, err := s.owner.Exec(ctx(t), "ALTER TABLE howdah_p00.cache_7 SET (fillfactor = 80)")
		return err == nil
	}, limit, 10*time.Millisecond)
}
