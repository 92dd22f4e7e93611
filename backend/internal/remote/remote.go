// Package remote holds what the stores behind a socket share: giving up on a
// client library that does not listen to its context, and naming what went
// wrong on the network.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/howdah/howdah"
)

// Call runs fn and waits for it no longer than ctx lives; then the error is
// the context's. A context that cannot end costs nothing.
//
// An fn that was given up ends by itself at the client's own timeout, so it
// must not touch memory of the caller.
func Call[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		return fn()
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := fn()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		// A client that does listen reports the end of the context in words of
		// its own, and may do so a moment before the context itself.
		if r.err != nil {
			if err := ended(ctx); err != nil {
				return none, err
			}
		}
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// Direction says whether a failed call may have changed the store.
type Direction bool

// The directions of a call.
const (
	Read  Direction = false
	Write Direction = true
)

// Failure names an error of the network with the error of package howdah
// that says what a caller may do next. Any other error is returned as it is.
func Failure(store string, direction Direction, err error) error {
	var netErr net.Error
	var opErr *net.OpError
	isNet := errors.As(err, &netErr)
	isOp := errors.As(err, &opErr)
	switch {
	case err == nil:
		return nil
	case isOp && opErr.Op == "dial":
		return fmt.Errorf("%w: %s: %w", howdah.ErrUnavailable, store, err)
	case !isNet && !isOp && !lost(err):
		return fmt.Errorf("%s: %w", store, err)
	case direction == Write:
		return fmt.Errorf("%w: %s: %w", howdah.ErrUnknownOutcome, store, err)
	case isNet && netErr.Timeout():
		return fmt.Errorf("%w: %s: %w: %w", howdah.ErrTimeout, store, context.DeadlineExceeded, err)
	default:
		return fmt.Errorf("%w: %s: %w", howdah.ErrUnavailable, store, err)
	}
}

// lost reports whether err is how a connection ends that the other side closed.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
