//go:build unix

package coherence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/server"
)

// nearStats is what a process says of its memory.
type nearStats struct {
	Hits, Misses uint64
}

// callTimeout bounds the calls of the library.
const callTimeout = 2 * time.Second

// openNear opens a database with a bound for hits from memory.
func openNear(ctx context.Context, url string, bound time.Duration) (*howdah.DB, error) {
	return howdah.Open(ctx, url, &howdah.Options{Timeout: callTimeout, Near: howdah.NearOptions{Bound: bound}})
}

func statsOf(db *howdah.DB) nearStats {
	memory := (*core.DB)(db).Near()
	if memory == nil {
		return nearStats{}
	}
	s := memory.Stats()
	return nearStats{Hits: s.Hits, Misses: s.Misses}
}

// durability is the class of a cache of a run, by its name.
func durability(name string) string {
	if name == "db0" {
		return "unlogged"
	}
	return "sync"
}

// createCache makes a cache whose changes are logged, if near says so.
func createCache(ctx context.Context, q querier, name string, near bool) error {
	_, err := q.Exec(ctx, "SELECT howdah.create_cache($1, durability => $2, near => $3)", name, durability(name), near)
	return err
}

// turnLog turns the change log of a cache off and on again.
func (a *actor) turnLog(ctx context.Context, s *session, name string) {
	a.turn(ctx, s, name, false)
	a.pause(ctx, 10*short)
	for !a.turn(ctx, s, name, true) && ctx.Err() == nil {
		a.pause(ctx, short)
	}
}

func (a *actor) turn(ctx context.Context, s *session, name string, near bool) bool {
	return s.do(ctx, 0, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT howdah.alter_cache($1, near => $2)", name, near)
		return err
	}) == nil
}

// bound gives a server a bound for hits from memory.
func bound(config *server.Config, bound time.Duration) { config.Near.Bound = bound }
