package redisapi

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
)

// While the change log cannot be followed, CLIENT TRACKING is refused. A client that asks while it sets
// up its connection may go on nevertheless, and would keep copies for ever: its connection ends.
func TestTrackingThatCannotBegin(t *testing.T) {
	t.Parallel()
	s := serveWith(t, newTrackingDatabase(t), howdah.Options{Timeout: 3 * time.Second, Near: howdah.NearOptions{Bound: time.Second}}, Options{})
	s.sql("SELECT howdah.alter_cache('db0', near => true)")
	worked := dialTracking(t, s.addr(), "3")
	waitFor(t, "an answer in time", func() bool { return worked.run("GET", "k") == "_\r\n" })
	refused := func(c *trackingClient) {
		t.Helper()
		if reply := c.run("CLIENT", "TRACKING", "ON"); !strings.HasPrefix(reply, "-") {
			t.Fatalf("the reply is %q", reply)
		}
	}
	connecting := dialTracking(t, s.addr(), "3")
	refused(connecting)
	if _, err := connecting.in.ReadByte(); err != io.EOF {
		t.Fatalf("the connection is not closed: %v", err)
	}
	refused(worked)
	worked.wantReply("+PONG\r\n", "PING")
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = s.engine.options.DB.Run(ctx) })
	t.Cleanup(func() { stop(); run.Wait() })
	for reply := ""; reply != resp.OK; reply = worked.run("CLIENT", "TRACKING", "ON") {
		if t.Context().Err() != nil {
			t.Fatal(reply)
		}
	}
}
