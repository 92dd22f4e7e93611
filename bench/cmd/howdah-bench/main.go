// Howdah-bench measures Howdah beside Redis, Memcached and plain PostgreSQL,
// and runs again what others have published about PostgreSQL as a cache.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/howdah/howdah/bench/internal/worker"
)

const usage = `howdah-bench measures Howdah beside Redis and plain PostgreSQL.

  howdah-bench list                    what there is to run
  howdah-bench run NAME... [flags]     run experiments ("all" for all of them)
  howdah-bench soak [flags]            minutes of churn, beside a hand-tuned table
  howdah-bench regress [flags]         fail if a published ratio is missed by nearly half
  howdah-bench compare [flags]         two source trees in turns, such as a change and the commit before it
  howdah-bench simulate [flags]        2 to 1,000 servers, calculated from measured costs
  howdah-bench report [flags]          write the results into docs/benchmarks.md

Give -h after run, regress, compare, soak, simulate or report for their flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "howdah-bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Print(usage)
		return nil
	}
	switch args[0] {
	case "list":
		return list(args[1:])
	case "run":
		return runExperiments(ctx, args[1:])
	case "regress":
		return regress(ctx, args[1:])
	case "compare":
		return compare(ctx, args[1:])
	case "soak":
		return runSoak(ctx, args[1:])
	case "simulate":
		return runSimulate(args[1:])
	case "report":
		return writeReport(args[1:])
	case worker.Command: // this program, started by itself
		return worker.Main(ctx, args[1:], os.Stdin, os.Stdout)
	case "-h", "--help", "help":
		fmt.Print(usage)
		return nil
	}
	return fmt.Errorf("there is no command %q: use list, run, regress, compare, soak, simulate or report", args[0])
}
