package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/trace"
)

// follow lets the tracer follow the flight, if it follows one of its calls.
func (fl *flight) follow(ops []*coalesce.Op) {
	followed := false
	var work trace.Shared
	writes := false
	for _, op := range ops {
		c := callOf(op)
		writes = writes || c.Verb.Writes
		if name := c.Verb.Name; work.Operation == "" {
			work.Operation = name
		} else if work.Operation != name {
			work.Operation = "read"
		}
		work.Keys += len(op.Keys)
		for o := op; o != nil; o = o.Follower() {
			work.Calls++
			followed = followed || callOf(o).Traces != nil
		}
	}
	if !followed {
		return
	}
	if writes && work.Operation == "read" {
		work.Operation = "write"
	}
	for rest := ops; len(rest) > 0; rest = rest[sameTable(rest):] {
		if name := engineOf(callOf(rest[0])).cache; !slices.Contains(work.Caches, name) {
			work.Caches = append(work.Caches, name)
		}
	}
	fl.work = work
	fl.trace = fl.set.Tracer.StartShared(context.Background(), tracesOf(ops), work)
}

// tracesOf are the contexts of the followed calls of a batch.
func tracesOf(ops []*coalesce.Op) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		for _, op := range ops {
			for o := op; o != nil; o = o.Follower() {
				for _, ctx := range callOf(o).Traces {
					if !yield(ctx) {
						return
					}
				}
			}
		}
	}
}

// land tells the tracer that the flight has ended, if it follows it.
func (fl *flight) land() {
	if fl.trace != nil {
		fl.set.Tracer.EndShared(fl.trace, fl.work, fl.failed)
	}
}
