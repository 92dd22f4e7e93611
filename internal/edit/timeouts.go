package edit

import (
	"container/heap"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
)

// timeouts is the waiters in line that have a deadline, the earliest first, and the one
// timer for all of them. Its methods are called with Waiters.mu held.
type timeouts struct {
	list   []*Waiter // a heap
	timer  *time.Timer
	set    int64 // for when; 0: for no time
	expire func()
}

func (t *timeouts) Len() int           { return len(t.list) }
func (t *timeouts) Less(i, j int) bool { return t.list[i].deadline < t.list[j].deadline }

func (t *timeouts) Swap(i, j int) {
	t.list[i], t.list[j] = t.list[j], t.list[i]
	t.list[i].index, t.list[j].index = i+1, j+1
}

func (t *timeouts) Push(x any) {
	w := x.(*Waiter)
	t.list = append(t.list, w)
	w.index = len(t.list)
}

func (t *timeouts) Pop() any {
	last := len(t.list) - 1
	w := t.list[last]
	t.list[last], t.list = nil, t.list[:last]
	w.index = 0
	return w
}

func (t *timeouts) add(w *Waiter) {
	heap.Push(t, w)
	t.wind()
}

func (t *timeouts) remove(w *Waiter) {
	if w.index > 0 {
		heap.Remove(t, w.index-1)
	}
}

// due takes out those whose time is up.
func (t *timeouts) due() (list []*Waiter) {
	t.set = 0
	for now := coalesce.Now(); len(t.list) > 0 && t.list[0].deadline <= now; {
		list = append(list, heap.Pop(t).(*Waiter))
	}
	t.wind()
	return list
}

// wind sets the timer for the first deadline, unless it ends earlier anyhow.
func (t *timeouts) wind() {
	if len(t.list) == 0 || t.set != 0 && t.set <= t.list[0].deadline {
		return
	}
	t.set = t.list[0].deadline
	wait := time.Duration(t.set - coalesce.Now())
	if t.timer == nil {
		t.timer = time.AfterFunc(wait, t.expire)
	} else {
		t.timer.Reset(wait)
	}
}

func (t *timeouts) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
