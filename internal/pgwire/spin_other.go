//go:build !unix

package pgwire

import "syscall"

// pollUntil cannot ask here; whoever waits sleeps.
func pollUntil(syscall.Conn, func() bool) bool { return false }
