//go:build unix

package coherence

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// duration is how long the long run takes: "go test ./internal/test/coherence -run
// TestLong -coherence.duration 2m -v". 0: it does not run.
var duration = flag.Duration("coherence.duration", 0, "how long TestLong runs, and with it the mutants that take long; 0: not at all")

// seedFlag repeats the random choices of a run, though not its timing.
var seedFlag = flag.Uint64("coherence.seed", 0, "seed of the random choices; 0: as HOWDAH_SEED says")

// child makes the test binary one process of a run: it reads its orders from
// the standard input and answers on the standard output.
var child = flag.Bool("coherence.child", false, "internal: be one process of a run")

func TestMain(m *testing.M) {
	flag.Parse()
	if *child {
		os.Exit(runChild(os.Stdin, os.Stdout))
	}
	pgtest.Main(m)
}

// someTime is a bound on what must not hang.
const someTime = time.Minute
