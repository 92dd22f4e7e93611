package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// pressedAgain is from when on a second SIGINT is a person who presses Ctrl-C again. Programs
// such as timeout signal a process and then its group: both arrive within a millisecond.
const pressedAgain = 500 * time.Millisecond

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. A SIGINT after that
// ends the program at once, if it comes pressedAgain later.
func untilSignal(parent context.Context, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		if takeSignals(signals, done, time.Now, cancel) {
			log.Error("interrupted again: exiting at once")
			os.Exit(exitFailed)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}

// takeSignals calls stop at the first signal. It returns true at a SIGINT that comes long enough
// after that, and false when done is closed.
func takeSignals(signals <-chan os.Signal, done <-chan struct{}, now func() time.Time, stop func()) bool {
	var first time.Time
	for {
		select {
		case <-done:
			return false
		case s := <-signals:
			switch {
			case first.IsZero():
				first = now()
				stop()
			case s == syscall.SIGINT && now().Sub(first) >= pressedAgain:
				return true
			}
		}
	}
}
