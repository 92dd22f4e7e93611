package experiment

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// footprint asks what idle connections and stored entries take.
func footprint() Experiment {
	return Experiment{
		Name:  "footprint",
		Title: "Memory of an idle connection, and bytes of an entry",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 20 * time.Second, Full: 50 * time.Second,
		Run: runFootprint,
	}
}

const (
	idleGroup, idleMemory      = "Idle connections", "memory of each"
	entryGroup, entrySize      = "Bytes of an entry", "size"
	entriesLoaded              = "loaded once"
	entriesRewritten           = "every value written three times more"
	inPostgres, inHowdah       = "PostgreSQL, a connection each", "howdah serve"
	inRedis, inMemcached       = "redis-server", "memcached"
	postgresIdle, firstMessage = 80, "GET key:000000000000"
)

func runFootprint(ctx context.Context, b *Bench, r *result.Result) error {
	const idle = 1000
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	spec := b.Workload
	spec.Keys = min(spec.Keys, b.scale(spec.Keys, 20_000))
	round := 0
	err = b.turns(1, func(int) error {
		round++
		if err := b.idleMemory(ctx, r, pg, round, idle); err != nil {
			return err
		}
		return b.entrySizes(ctx, r, spec, round)
	})
	if err != nil {
		return err
	}
	r.Set("idle connections", fmt.Sprintf("%d, PostgreSQL %d; each made one request before, and answered it", idle, postgresIdle))
	r.Set("memory of a connection", "growth of the server's proportional set size (PSS); buffers in the kernel are not in it")
	r.Set("entries", spec.String()+"; for Redis and memcached by their own account, for tables with index and free space on disk")
	r.Compare(idleGroup, "idle", idleMemory, inHowdah, inRedis, 0, true)
	r.Compare(entryGroup, entriesLoaded, entrySize, inHowdah, inRedis, 0, true)
	r.Compare(entryGroup, entriesRewritten, entrySize, inHowdah, inRedis, 0, true)
	return nil
}

// idleMemory opens connections to every server. Each round has servers of its
// own, but for PostgreSQL, which ends a process with its connection: others
// keep the memory that they once had.
func (b *Bench) idleMemory(ctx context.Context, r *result.Result, pg *service.PostgresServer, round, idle int) error {
	redis, err := b.redisWith(ctx, fmt.Sprintf("redis-idle-%d", round))
	if err != nil {
		return err
	}
	howdah, err := b.Serve(ctx)
	if err != nil {
		return err
	}
	for _, s := range []*service.Server{howdah, redis} {
		if err := loadOver(ctx, s.Addr, workload.Spec{Keys: 1000, ValueSize: b.Workload.ValueSize}); err != nil {
			return err
		}
	}
	if err := b.idleOverRedis(r, inHowdah, howdah.Addr, howdah.Process, idle); err != nil {
		return err
	}
	if err := b.idleOverRedis(r, inRedis, redis.Addr, redis.Process, idle); err != nil {
		return err
	}
	return b.idlePostgres(ctx, r, pg)
}

// idleOverRedis opens connections to a server for Redis clients.
func (b *Bench) idleOverRedis(r *result.Result, series, addr string, p machine.Process, n int) error {
	if p.PID == 0 {
		return nil // not ours to look into
	}
	before := p.MemoryMB()
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	answer := make([]byte, 4096)
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		conns = append(conns, c)
		if _, err := c.Write([]byte(firstMessage + "\r\n")); err != nil {
			return err
		}
		got, err := c.Read(answer)
		if err != nil || answer[0] != '$' || answer[1] == '-' {
			return fmt.Errorf("%s answered %q: %v", series, answer[:got], err)
		}
	}
	b.addIdle(r, series, n, p.MemoryMB()-before)
	return nil
}

// idlePostgres opens connections to PostgreSQL itself, with a prepared
// statement each, as a pool would hold them.
func (b *Bench) idlePostgres(ctx context.Context, r *result.Result, pg *service.PostgresServer) error {
	if pg.Process.PID == 0 {
		return nil
	}
	before := pg.Process.MemoryMB()
	conns := make([]*pgx.Conn, 0, postgresIdle)
	defer func() {
		for _, c := range conns {
			c.Close(context.WithoutCancel(ctx))
		}
	}()
	for range postgresIdle {
		c, err := pgx.Connect(ctx, pg.URL)
		if err != nil {
			return err
		}
		conns = append(conns, c)
		var value []byte
		table, err := cacheTable(ctx, c, "db0")
		if err != nil {
			return err
		}
		err = c.QueryRow(ctx, `SELECT value FROM `+table+` WHERE hash = howdah.key_hash($1::bytea)`, []byte(workload.Key(0))).Scan(&value)
		if err != nil {
			return err
		}
	}
	b.addIdle(r, inPostgres, postgresIdle, pg.Process.MemoryMB()-before)
	return nil
}

func (b *Bench) addIdle(r *result.Result, series string, n int, megabytes float64) {
	each := max(megabytes, 0) * 1024 / float64(n)
	r.Add(idleGroup, "idle", series, idleMemory, "kB", each)
	b.Progress("%-32s %5d idle connections: %.1f kB each", series, n, each)
}

// entrySizes fills every store and then writes everything again.
func (b *Bench) entrySizes(ctx context.Context, r *result.Result, spec workload.Spec, round int) error {
	library, err := rival.NewHowdahClass(ctx, b.postgres.URL, "unlogged")
	if err != nil {
		return err
	}
	defer library.Close()
	if err := rival.CreatePgxTable(ctx, b.postgres.URL); err != nil {
		return err
	}
	plain, err := rival.NewPgx(ctx, b.postgres.URL, 16)
	if err != nil {
		return err
	}
	defer plain.Close()
	owner, err := connect(ctx, b.postgres.URL)
	if err != nil {
		return err
	}
	defer owner.Close(ctx)
	empty, err := b.redisWith(ctx, fmt.Sprintf("redis-entries-%d", round))
	if err != nil {
		return err
	}
	goRedis := rival.NewGoRedis(empty.Addr, 64)
	defer goRedis.Close()
	cache, err := cacheTable(ctx, owner, "bench_unlogged")
	if err != nil {
		return err
	}
	if err := owner.run(ctx, `TRUNCATE `+cache); err != nil {
		return err
	}
	table := func(name string) func() (float64, error) {
		return func() (float64, error) { mb, err := owner.megabytes(ctx, name); return mb * (1 << 20), err }
	}
	stores := []sizedStore{
		{inHowdah, library, table(cache), 0},
		{inRedis, goRedis, func() (float64, error) { return infoNumber(ctx, empty.Addr, "memory", "used_memory") }, 0},
		{"a plain table", plain, table(rival.PgxTable), 0},
	}
	if _, err := service.Memcached.Find(); err == nil {
		memcached, err := b.Memcached(ctx)
		if err != nil {
			return err
		}
		c := rival.NewMemcached(memcached.Addr, 64)
		defer c.Close()
		stores = append(stores, sizedStore{inMemcached, c, func() (float64, error) { return memcachedBytes(memcached.Addr) }, 0})
	}
	for i := range stores {
		s := &stores[i]
		if s.empty, err = s.size(); err != nil {
			return err
		}
		for _, state := range []struct {
			name   string
			writes int
		}{{entriesLoaded, 1}, {entriesRewritten, 3}} {
			for range state.writes {
				if err := rival.Load(ctx, s, spec); err != nil {
					return err
				}
			}
			size, err := s.size()
			if err != nil {
				return err
			}
			each := (size - s.empty) / float64(spec.Keys)
			r.Add(entryGroup, state.name, s.name, entrySize, "bytes", each)
			b.Progress("%-32s %s: %.0f bytes an entry", s.name, state.name, each)
		}
	}
	return nil
}

// sizedStore is a store that tells what it holds.
type sizedStore struct {
	name string
	rival.Rival
	size  func() (bytes float64, err error)
	empty float64 // before the first entry
}

// memcachedBytes is what the items take by memcached's own account.
func memcachedBytes(addr string) (float64, error) {
	text, err := rival.MemcachedStat(addr, "bytes")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}
