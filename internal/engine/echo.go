package engine

import (
	"bytes"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Gets that wait for a plain set of their key are answered with its value when
// PostgreSQL has acknowledged it, without a statement of their own.

// sameKey is coalesce.Options.Same: two keys may have one hash.
func sameKey(a, b *coalesce.Op) bool { return bytes.Equal(onlyKey(callOf(a)), onlyKey(callOf(b))) }

// onlyKey is the key of a call that has one.
func onlyKey(c *verb.Call) []byte {
	if c.Keys != nil {
		return c.Keys[0]
	}
	return c.Key
}

// isUnknown is coalesce.Options.Unknown.
func isUnknown(err error) bool {
	return errors.Is(err, fault.ErrUnknownOutcome) || errors.Is(err, coalesce.ErrSent)
}

// stands reports whether an entry that a plain set has stored cannot have expired
// yet. The call began before its statement did.
func stands(c *verb.Call, t *statement.Table) bool {
	life, ever := t.Life(c.Expiry)
	return ever || time.Duration(coalesce.Now()-c.Began) < life
}

// copyEchoed copies the values of sets that merged and that reads ask for: their
// callers may leave before the answer.
func copyEchoed(op *coalesce.Op) {
	for o := op.Follower(); o != nil; o = o.Follower() {
		if c := callOf(o); o.Echoed() && c.Stored == nil {
			c.Stored = stored(c)
		}
	}
}

// stored is a copy of what a set has stored.
func stored(c *verb.Call) []byte {
	if c.Stored != nil {
		return c.Stored
	}
	return append(make([]byte, 0, len(c.Value)), c.Value...)
}

// acknowledged is coalesce.Options.Acknowledged.
func (s *Set) acknowledged(set *coalesce.Op, echoes []coalesce.Echo, last bool) {
	e := engineOf(callOf(set))
	e.rememberSet(callOf(set), last)
	for _, echo := range echoes {
		of := callOf(echo.Set)
		of.Stored = stored(of)
		e.echo(callOf(echo.Read), of.Stored)
	}
}

// echo answers a get with a value.
func (e *Engine) echo(c *verb.Call, value []byte) {
	c.Reset()
	c.Result.Found, c.Result.Value, c.Result.Length = true, value, len(value)
	c.Shared = true
	if reads := e.reads.Load(); reads != nil {
		reads.noteHit(e.set, c.Key)
	}
}
