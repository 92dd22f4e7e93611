// Command gate runs what is longer than one test command, and writes down how it went.
//
//	gate run [flags] -- [flags of go test]     all tests once, and those that failed a second time
//	gate nightly [flags]                       every step of the nightly run, into docs/nightly.md
//	gate flaky [flags]                         the tests of docs/flaky.md, many times, under load
//
// It is run from the root of the repository by the targets of the Makefile.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	if len(os.Args) < 2 {
		fail("gate needs a command: run, nightly or flaky")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	commands := map[string]func(context.Context, []string) error{"run": run, "nightly": nightly, "flaky": flaky}
	command, ok := commands[os.Args[1]]
	if !ok {
		fail("gate knows the commands run, nightly and flaky, and not " + os.Args[1])
	}
	if err := command(ctx, os.Args[2:]); err != nil {
		fail(err.Error())
	}
}

func fail(sentence string) {
	fmt.Fprintln(os.Stderr, "gate: "+sentence)
	os.Exit(1)
}
