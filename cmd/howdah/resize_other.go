//go:build !unix

package main

import "os"

// notifyResize does nothing here: the next look finds the new size.
func notifyResize(chan<- os.Signal) (stop func()) { return func() {} }
