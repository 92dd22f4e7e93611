//go:build !linux

package server

import "net"

// loop exists on Linux only; elsewhere each connection has its goroutines.
type loop struct{}

func newLoops(*respServer, int) ([]*loop, error) { return nil, nil }

func (*loop) run()                {}
func (*loop) adopt(net.Conn) bool { return false }
func (*loop) sweep()              {}
func (*loop) drainAll()           {}
func (*loop) closeAll()           {}
