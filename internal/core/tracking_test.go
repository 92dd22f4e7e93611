package core

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// noCopies is a client that keeps nothing.
type noCopies struct{}

func (noCopies) Unheard(string)                        {}
func (noCopies) Invalidate(string, bool)               {}
func (noCopies) InvalidateKeys(string, []string, bool) {}
func (noCopies) InvalidateAll(bool)                    {}

// A client may begin to track where the chosen cache has no log, which Track refuses, and choose another cache then: from
// its beginning on the log is followed.
func TestAClientThatBeginsWakesTheFollower(t *testing.T) {
	t.Parallel()
	db := openDB(t, pgtest.New(t))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended) }()
	polls := func() uint64 { return db.follower.Stats().Polls }
	await.True(t, "polls end, because nobody wants them", func() bool { return polls() > 0 && db.follower.Idle() })
	before := polls()
	client := db.Tracking().NewClient(1)
	client.Begin(noCopies{}, false)
	defer client.End()
	require.Eventually(t, func() bool { return polls() > before+10 }, time.Minute, time.Millisecond, "nothing polls for a client that tracks")
}
