//go:build !unix

package howdah

import "syscall"

// pollUntil cannot ask here; whoever waits sleeps.
func pollUntil(syscall.Conn, func() bool) bool { return false }
