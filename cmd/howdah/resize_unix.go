//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize sends to ch when the size of the terminal changes, until stop.
func notifyResize(ch chan<- os.Signal) (stop func()) {
	signal.Notify(ch, syscall.SIGWINCH)
	return func() { signal.Stop(ch) }
}
