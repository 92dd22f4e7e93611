package core

import (
	"flag"
	"os"
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// fetchChild makes the test binary one process of TestFetchProcesses: it reads its
// orders from the standard input and answers on the standard output.
var fetchChild = flag.Bool("fetch.child", false, "internal: be one process of a test of Fetch")

func TestMain(m *testing.M) {
	flag.Parse()
	if *fetchChild {
		os.Exit(runFetchChild(os.Stdin, os.Stdout))
	}
	pgtest.Main(m)
}
