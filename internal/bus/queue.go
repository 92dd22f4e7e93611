package bus

import (
	"sync"

	"github.com/howdah/howdah/internal/fault"
)

// queue is the messages that wait to be sent.
type queue struct {
	filled chan struct{} // gets a value when something begins to wait

	mu     sync.Mutex
	closed bool // messages are not taken, and not sent
	calls  []*call
	bytes  int
}

// call is a message with its sender, who is told how it went.
type call struct {
	message Message
	done    func(error) // nil: the sender does not ask
}

func (c *call) end(err error) {
	if c.done != nil {
		c.done(err)
	}
}

// open lets messages wait.
func (q *queue) open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = false
}

// put adds a message. Errors: fault.ErrOverloaded, fault.ErrNotRunning.
func (q *queue) put(c *call, limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fault.ErrNotRunning
	}
	if size := c.message.size(); len(q.calls) > 0 && q.bytes+size > limit {
		return fault.ErrOverloaded
	}
	q.calls = append(q.calls, c)
	q.bytes += c.message.size()
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
		next := q.calls[n].message.size()
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

// withdraw removes a message that waits, and reports whether it still did.
func (q *queue) withdraw(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.calls {
		if other == c {
			q.bytes -= c.message.size()
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
