//go:build peers

package experiment

import (
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
)

func TestSessionsAndSpillSmoke(t *testing.T) {
	for _, name := range []string{"sessions", "spill"} {
		t.Run(name, func(t *testing.T) {
			r, err := named(t, name).Do(t.Context(), tiny(t))
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, r)
		})
	}
}

// One distance, all contestants: none may answer sooner than a round trip.
func TestNetworkSmoke(t *testing.T) {
	o := tiny(t)
	o.Duration = 300 * time.Millisecond
	b, err := newBench(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	ctx, r := t.Context(), &result.Result{}
	pg, err := b.Postgres(ctx)
	if err != nil {
		t.Fatal(err)
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := loadNetwork(ctx, b, pg.URL, redis.Addr); err != nil {
		t.Fatal(err)
	}
	const delay = 2 * time.Millisecond
	// By TCP and by the Unix socket: the proxy stands before either.
	for _, url := range []string{pg.URL, pg.SocketURL} {
		if err := b.overProxies(ctx, r, delay, url, redis.Addr); err != nil {
			t.Fatal(err)
		}
	}
	for _, series := range []string{rival.HowdahName, rival.GoRedisName, rival.RueidisName, rival.PgxName} {
		if r.Value(networkLone, delayCase(delay), series, p50) < 3.9 || r.Value(networkMany, delayCase(delay), series, throughput) == 0 {
			t.Errorf("%s was not measured over the distance", series)
		}
	}
}
