//go:build !linux

package server

import (
	"net"
	"sync/atomic"
)

// loop exists on Linux only; elsewhere each connection has its goroutines.
type loop struct{ size atomic.Int64 }

func newLoops(*driver, int) ([]*loop, error) { return nil, nil }

func (*loop) run()                {}
func (*loop) adopt(net.Conn) bool { return false }
func (*loop) sweep()              {}
func (*loop) drainAll()           {}
func (*loop) closeAll()           {}
