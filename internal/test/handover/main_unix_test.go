//go:build unix

package handover

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// duration is how long the long run takes: "go test ./internal/test/handover -run TestLong
// -handover.duration 2m -v".
var duration = flag.Duration("handover.duration", 0, "how long TestLong runs; 0: not at all")

// child makes the test binary a server of a run.
var child = flag.String("handover.child", "", "internal: be a server on this database")

func TestMain(m *testing.M) {
	flag.Parse()
	if *child != "" {
		os.Exit(serve(*child, os.Stdin, os.Stdout))
	}
	pgtest.Main(m)
}

// serve is the body of a child process. It prints where it listens. The end of its input
// ends it.
func serve(url string, in io.Reader, out io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	err := server.Run(ctx, server.Config{
		DatabaseURL: url, RedisAddr: "127.0.0.1:0", Timeout: 10 * time.Second,
		Ready: func(a server.Addresses) { fmt.Fprintln(out, a.Redis) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "handover:", err)
		return 1
	}
	return 0
}
