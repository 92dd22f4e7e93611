package handover

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// producer pushes elements, one or some at a time.
type producer struct {
	client
	run    *run
	queues []queue
	random *rand.Rand
	ended  chan struct{}
}

func (p *producer) work() {
	defer close(p.ended)
	defer p.cut()
	for p.run.sleep(p.random, 6*time.Millisecond, p.run.produced) {
		if !p.connect() {
			continue
		}
		switch way := p.random.IntN(8); {
		case way == 0:
			p.push(p.queues[p.random.IntN(len(p.queues))], 1+p.random.IntN(4))
		case way <= 2 && p.run.groups:
			p.pushBoth(way == 1)
		default:
			p.push(p.queues[p.random.IntN(len(p.queues))], 1)
		}
	}
}

// push pushes some new elements and notes it.
func (p *producer) push(q queue, n int) {
	note := Push{Key: q.key, Elements: p.elements(n), Began: p.run.now()}
	reply, err := p.do(q.pushWords(note.Elements, p.number)...)
	p.note(q.kind.push, reply, err, note)
}

// pushBoth pushes a new element to each of its queues, by a script or by a transaction.
func (p *producer) pushBoth(script bool) {
	both, began := p.elements(len(p.queues)), p.run.now()
	what, commands := "EVAL", [][]string{scriptWords(p.queues, both, p.number)}
	if !script {
		what, commands = "EXEC", [][]string{{"MULTI"}, p.queues[0].pushWords(both[:1], p.number), p.queues[1].pushWords(both[1:], p.number), {"EXEC"}}
	}
	var reply resp.Reply
	var err error
	for _, words := range commands {
		if reply, err = p.do(words...); err != nil {
			break
		}
	}
	p.note(what, reply, err, Push{Key: p.queues[0].key, Elements: both[:1], Began: began}, Push{Key: p.queues[1].key, Elements: both[1:], Began: began})
}

// elements names new elements.
func (p *producer) elements(n int) (names []string) {
	for range n {
		names = append(names, strconv.FormatInt(p.run.elements.Add(1), 10))
	}
	return names
}

func (p *producer) number() int64 { return p.run.numbers.Add(1) }

// note notes what has just been pushed, by the reply to that.
func (p *producer) note(what string, reply resp.Reply, err error, pushes ...Push) {
	ended := p.run.now()
	outcome, unexpected := outcomeOf(reply, err)
	if unexpected != nil {
		p.run.fail(fmt.Errorf("%s: %w", what, unexpected))
	}
	for _, push := range pushes {
		push.Ended, push.Outcome = ended, outcome
		p.run.ledger.Push(push)
	}
}

// consumer waits for elements again and again.
type consumer struct {
	client
	run    *run
	kind   *kind
	keys   []string
	to     string // the list to which it moves them
	most   int    // elements that it takes at once
	random *rand.Rand
	ended  chan struct{}
}

func (c *consumer) work() {
	defer close(c.ended)
	defer c.cut()
	for {
		select {
		case <-c.run.asleep:
			return
		default:
		}
		if !c.connect() {
			c.run.sleep(c.random, 10*time.Millisecond, c.run.asleep)
			continue
		}
		c.pop(0.05 + 0.5*c.random.Float64())
	}
}

// pop waits at most so many seconds, for ever if 0, and notes what came.
func (c *consumer) pop(seconds float64) {
	w := &Wait{Keys: c.keys, Began: c.run.now()}
	if seconds > 0 {
		w.Deadline = w.Began + time.Duration(seconds*float64(time.Second))
	}
	if c.kind.moves {
		w.To = c.to
	}
	c.begin(w)
	reply, err := c.do(c.kind.popWords(c.keys, c.to, c.most, strconv.FormatFloat(seconds, 'f', 3, 64))...)
	w.Ended = c.run.now()
	c.end()
	var elements []string
	var unexpected error
	if w.Outcome, unexpected = outcomeOf(reply, err); unexpected == nil && w.Outcome == Done {
		w.Key, elements, unexpected = c.kind.popped(reply, c.keys)
	}
	if err == nil && w.Outcome == Unknown && !c.hasEnded() {
		unexpected = errors.New("the connection goes on after an unknown outcome")
	}
	if unexpected != nil {
		c.run.fail(fmt.Errorf("%s: %w", c.kind.pop, unexpected))
	}
	switch w.Outcome {
	case Done:
		for _, w.Element = range elements {
			c.run.ledger.Wait(*w)
		}
	case Unknown:
		for range c.most { // each of which may be lost
			c.run.ledger.Wait(*w)
		}
	default:
		c.run.ledger.Wait(*w)
	}
	if w.Outcome == Done && c.kind.moves {
		c.remove(w.Element)
	}
}

// remove removes an element from the list to which it was moved, or leaves it there as one
// does who fails before the work is done.
func (c *consumer) remove(element string) {
	if c.random.IntN(20) == 0 {
		return
	}
	reply, err := c.do("LREM", c.to, "1", element)
	outcome, unexpected := outcomeOf(reply, err)
	if unexpected != nil {
		c.run.fail(fmt.Errorf("LREM: %w", unexpected))
	}
	c.run.ledger.Remove(Removal{element, outcome, reply.Int == 1})
}

// finale lets a client of each node wait for ever at each queue, several times, and then
// pushes one element for each: all must be served.
func (r *run) finale() (asleep []string) {
	r.t.Helper()
	const waiters = 3
	r.monitoring.Wait() // the monitors read the consumers
	first := len(r.consumers)
	for _, q := range r.queues {
		for range waiters {
			for _, n := range r.nodes {
				c := &consumer{run: r, client: client{node: n}, kind: q.kind, keys: []string{q.key}, most: 1, ended: make(chan struct{}), random: r.random(1)}
				c.to = fmt.Sprintf("work:%d", len(r.consumers))
				r.consumers = append(r.consumers, c)
			}
		}
	}
	last := r.consumers[first:]
	for _, c := range last {
		r.await("a connection", c.connect)
		r.work.Go(func() { defer close(c.ended); defer c.cut(); c.pop(0) })
	}
	for _, n := range r.nodes {
		r.monitoring.Go(func() { r.monitor(n) })
	}
	r.await("all clients to wait", func() bool {
		for _, c := range last {
			if !c.inLine() {
				return false
			}
		}
		return true
	})
	for i := range waiters * len(r.nodes) {
		p := &producer{client: client{node: r.nodes[i%len(r.nodes)]}, run: r}
		r.await("a connection", p.connect)
		for _, q := range r.queues {
			p.push(q, 1)
		}
		p.cut()
	}
	if !r.within(r.patience, r.consumed) {
		for _, c := range last {
			if c.inLine() {
				asleep = append(asleep, fmt.Sprintf("%s of %q on %s", c.kind.pop, c.keys, c.node.Name()))
				c.cut()
			}
		}
	}
	r.work.Wait()
	r.monitoring.Wait()
	return asleep
}
