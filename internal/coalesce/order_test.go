package coalesce

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestOrderPerKey(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 3, WriteFlights: 3, AloneFlights: 1}, func(r *rig) {
		r.start(newOp("r1", Read, 1))
		f1 := r.flight()
		f1.take()
		r.start(newOp("r2", Read, 1)) // reads share
		f2 := r.flight()
		f2.take()
		r.start(newOp("w1", Write, 1)) // waits for both
		r.start(newOp("r3", Read, 1))  // waits for w1
		r.start(newOp("w2", Write, 1)) // waits for r3
		r.start(newOp("w3", Set, 1))
		r.noFlight()
		f1.finish(nil)
		r.noFlight()
		f2.finish(nil)
		w := r.flight()
		r.batch(w.take(), "w1 ")
		r.noFlight()
		w.finish(errStatement) // order does not depend on success
		rd := r.flight()
		r.batch(rd.take(), "r3 ")
		r.noFlight()
		rd.finish(nil)
		w = r.flight()
		r.batch(w.take(), "w2 ")
		w.finish(nil)
		w = r.flight()
		r.batch(w.take(), "w3 ")
		w.finish(nil)
	})
}

func TestCompleteFreesKeysWithinRun(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("a", Write, 1))
		r.start(newOp("b", Write, 2))
		f := r.flight()
		f.take()
		c := r.start(newOp("c", Read, 1))
		r.noFlight()
		f.complete(f.ops[0], nil)
		g := r.flight() // while f is still flying
		g.finish(nil)
		r.ended(nil, c)
		f.complete(f.ops[1], nil)
		f.end()
	})
}

func TestSeveralKeys(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 4, AloneFlights: 1}, func(r *rig) {
		r.start(newOp("a", Write, 1))
		fa := r.flight()
		fa.take()
		r.start(newOp("b", Write, 2))
		fb := r.flight()
		fb.take()
		r.start(newOp("ab", Write, 2, 1, 2, 2)) // a key named twice
		r.start(newOp("ba", Write, 1, 3, 2))
		r.start(newOp("c", Write, 3)) // must not overtake ba
		r.noFlight()
		fa.finish(nil)
		r.noFlight()
		fb.finish(nil)
		f := r.flight()
		r.batch(f.take(), "ab ")
		r.noFlight()
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "ba ")
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "c ")
		f.finish(nil)
		r.start(newOp("none", Write)) // no keys: no order
		r.start(newOp("none", Write))
		r.flight().finish(nil)
	})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	read := func(name string, class uint8, keys ...uint64) *Op {
		op := newOp(name, Read, keys...)
		op.Class = class
		return op
	}
	set := func(name string, class uint8) *Op {
		op := newOp(name, Set, 1)
		op.Class = class
		return op
	}
	tests := []struct {
		name string
		ops  []*Op
		want []string // the batches, the lanes by turns beginning with reads or writes as they come
	}{
		{"sets, last wins", []*Op{set("a", 0), set("b", 0), set("c", 0)}, []string{"c+b+a "}},
		{"sets of two classes", []*Op{set("a", 0), set("b", 1), set("c", 1)}, []string{"a ", "c+b "}},
		{"write between", []*Op{set("a", 0), newOp("w", Write, 1), set("b", 0)}, []string{"a ", "w ", "b "}},
		{"read between", []*Op{set("a", 0), read("r", 0, 1), set("b", 0)}, []string{"a ", "r ", "b "}},
		{"writes never", []*Op{newOp("a", Write, 1), newOp("b", Write, 1)}, []string{"a ", "b "}},
		{"several keys never", []*Op{newOp("a", Set, 1, 2), newOp("b", Set, 1, 2)}, []string{"a ", "b "}},
		{"reads", []*Op{read("a", 0, 1), read("b", 0, 1), read("c", 0, 1)}, []string{"a+c+b "}},
		{"reads of two classes", []*Op{read("a", 0, 1), read("b", 1, 1), read("c", 0, 1), read("d", 1, 1)}, []string{"a+c b+d "}},
		{"reads over a write", []*Op{read("a", 0, 1), set("w", 0), read("b", 0, 1), read("c", 0, 1)}, []string{"a ", "w ", "b+c "}},
		{"read of several keys", []*Op{read("a", 0, 1), read("m", 0, 1, 2), read("b", 0, 1)}, []string{"a+b m "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, Options{}, func(r *rig) {
				// An exclusive hold keeps everything queued meanwhile.
				release := make(chan struct{})
				go func() {
					_ = r.Exclusive(background, []uint64{1}, func(context.Context) error { <-release; return nil })
				}()
				synctest.Wait()
				var answers []*answer
				merged := 0
				for i, op := range test.ops {
					if i%2 == 0 {
						answers = append(answers, r.start(op))
					} else {
						answers = append(answers, r.goDo(background, op))
					}
				}
				close(release)
				for _, want := range test.want {
					f := r.flight()
					r.batch(f.takeAndSend(), want)
					for _, op := range f.ops {
						for range op.Followers() {
							merged++
						}
					}
					f.finish(errStatement)
				}
				r.ended(errStatement, answers...)
				if s := r.table.Stats(); s.Merged != uint64(merged) {
					t.Errorf("%d merged, want %d", s.Merged, merged)
				}
			})
		})
	}
}

func TestNoMergeWithTakenOp(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Set, 1)) // inline, nothing joins it
		f := r.flight()
		b := r.start(newOp("b", Set, 1))
		r.batch(f.take(), "a ")
		c := r.start(newOp("c", Set, 1))
		f.finish(nil)
		r.ended(nil, a)
		f = r.flight()
		r.batch(f.take(), "c+b ")
		d := r.start(newOp("d", Set, 1))
		f.finish(nil)
		r.ended(nil, b, c)
		f = r.flight()
		r.batch(f.take(), "d ")
		f.finish(nil)
		r.ended(nil, d)
	})
}

func TestExclusive(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.start(newOp("a", Read, 1))
		f := r.flight()
		f.take()
		running, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		ctx := context.WithValue(background, ctxKey{}, 1)
		go func() {
			ended <- r.Exclusive(ctx, []uint64{1, 2, 1}, func(got context.Context) error {
				if got != ctx {
					t.Error("fn has another context")
				}
				close(running)
				<-release
				return errStatement
			})
		}()
		synctest.Wait()
		b, c := r.start(newOp("b", Write, 2)), r.start(newOp("c", Read, 1))
		d := r.start(newOp("d", Write, 3)) // another key: not concerned
		r.flight().finish(nil)
		r.ended(nil, d)
		f.finish(nil)
		r.ended(nil, a)
		<-running
		r.noFlight()
		r.pending(b, c)
		close(release)
		if err := <-ended; err != errStatement {
			t.Error(err)
		}
		r.flight().finish(nil)
		r.flight().finish(nil)
		r.ended(nil, b, c)
		if err := r.Exclusive(background, nil, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestExclusiveCancelledAndPanicking(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic of fn was swallowed")
				}
			}()
			_ = r.Exclusive(background, []uint64{1}, func(context.Context) error { panic("fn") })
		}()
		a := r.start(newOp("a", Write, 1))
		f := r.flight()
		f.take()
		ctx, cancel := context.WithCancelCause(background)
		ended := make(chan error, 1)
		go func() { ended <- r.Exclusive(ctx, []uint64{1}, nil) }()
		synctest.Wait()
		b := r.start(newOp("b", Write, 1))
		cancel(errStatement)
		if err := <-ended; !errors.Is(err, ErrNotSent) || !errors.Is(err, errStatement) {
			t.Error(err)
		}
		if err := r.Exclusive(ctx, []uint64{9}, nil); !errors.Is(err, ErrNotSent) {
			t.Error(err)
		}
		f.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, a, b)
	})
}
