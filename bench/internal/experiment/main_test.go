package experiment

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/howdah/howdah/bench/internal/worker"
)

// Experiments start this program again for their workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		if err := worker.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
