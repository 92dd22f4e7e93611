package bus

import (
	"sync"
	"sync/atomic"

	"github.com/howdah/howdah/internal/fault"
)

// queue is the messages that wait to be sent.
type queue struct {
	filled chan struct{} // gets a value when something begins to wait

	mu     sync.Mutex
	closed bool // messages are not taken, and not sent
	calls  []*call
	bytes  int

	open atomic.Int64 // calls whose senders have not been told how they went
}

// call is messages that go together, with their sender, who is told how it went.
type call struct {
	messages []Message
	size     int
	done     func(error) // nil: the sender does not ask
	queue    *queue      // that counts it; nil: none
}

func newCall(messages []Message, done func(error)) *call {
	c := &call{messages: messages, done: done}
	for _, m := range messages {
		c.size += m.size()
	}
	return c
}

func (c *call) end(err error) {
	if c.done != nil {
		c.done(err)
	}
	if c.queue != nil {
		c.queue.open.Add(-1)
	}
}

// reopen lets messages wait.
func (q *queue) reopen() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = false
}

// put adds a call. Errors: fault.ErrOverloaded, fault.ErrNotRunning.
func (q *queue) put(c *call, limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fault.ErrNotRunning
	}
	if len(q.calls) > 0 && q.bytes+c.size > limit {
		return fault.ErrOverloaded
	}
	if len(c.messages) > 0 { // else it only asks, and nothing can overtake it
		q.open.Add(1)
		c.queue = q
	}
	q.calls = append(q.calls, c)
	q.bytes += c.size
	if len(q.calls) == 1 {
		signal(q.filled)
	}
	return nil
}

// take removes what comes first, up to so many bytes but at least one.
func (q *queue) take(limit int) []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.calls) {
		next := q.calls[n].size
		if n > 0 && size+next > limit {
			break
		}
		size += next
		n++
	}
	flight := q.calls[:n:n]
	q.calls = q.calls[n:]
	if len(q.calls) == 0 {
		q.calls = nil
	}
	q.bytes -= size
	return flight
}

// withdraw removes messages that wait, and reports whether it still did.
func (q *queue) withdraw(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.calls {
		if other == c {
			q.bytes -= c.size
			q.open.Add(-1)
			q.calls = append(q.calls[:i:i], q.calls[i+1:]...)
			return true
		}
	}
	return false
}

// close ends the waiting, and returns what waited.
func (q *queue) close() []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	left := q.calls
	q.calls, q.bytes = nil, 0
	return left
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
