package upkeep

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/pgtest"
)

// While PostgreSQL is down that is logged once, and that upkeep works again only
// when it does. What asks PostgreSQL nothing proves nothing.
func TestUpkeepLogsAnOutageOnce(t *testing.T) {
	server := pgtest.Own(t)
	pool, err := pgxpool.New(t.Context(), server.NewURL())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	log := new(bytes.Buffer)
	set := engine.New(pool, engine.Options{Timeout: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
	r := &run{Upkeep: New(set, nil, true, 0), schedule: newSchedule(), holder: "test"}
	count := func(text string) int { return strings.Count(log.String(), text) }

	now := time.Unix(1000, 0)
	r.tick(t.Context(), now)
	require.Empty(t, log.String())
	server.Stop("fast")
	pool.Reset()
	for range 12 { // at every second of these the reads are to be noted, of which there are none
		now = now.Add(flushInterval / 2)
		r.tick(t.Context(), now)
		r.tick(t.Context(), now.Add(time.Millisecond))
	}
	require.Equal(t, 1, count("upkeep failed"), log)
	require.Zero(t, count("works again"), log)
	server.Start()
	pool.Reset()
	r.tick(t.Context(), now.Add(time.Hour))
	require.Equal(t, 1, count("works again"), log)
}
