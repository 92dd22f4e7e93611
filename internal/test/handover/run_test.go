package handover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/seed"
)

// someTime is a bound on what must not hang.
const someTime = 3 * time.Minute

// queuesOfKind is how many keys each kind of queue has.
const queuesOfKind = 2

// run is producers and consumers at work on some nodes.
type run struct {
	t      *testing.T
	nodes  []node
	seed   uint64
	start  time.Time
	queues []queue
	ledger Ledger
	cuts   bool // clients are killed
	groups bool // the nodes know transactions and scripts

	patience time.Duration // with a client for which there is an element

	consumers []*consumer
	producers []*producer
	numbers   atomic.Int64 // of elements, and scores of sorted sets
	elements  atomic.Int64

	monitoring       sync.WaitGroup
	work             sync.WaitGroup
	produced, asleep chan struct{} // closed when the producers, and the consumers, are to end
	failures         chan error    // the first are kept
}

func newRun(t *testing.T, nodes ...node) *run {
	r := &run{t: t, nodes: nodes, seed: seed.Of(t), start: time.Now(), cuts: true, patience: someTime, produced: make(chan struct{}), asleep: make(chan struct{}), failures: make(chan error, 100)}
	for _, k := range kinds {
		for i := range queuesOfKind {
			r.queues = append(r.queues, queue{fmt.Sprintf("queue:%s:%d", k.name, i), k})
		}
	}
	return r
}

// now is the time of the run, never 0.
func (r *run) now() time.Duration { return time.Since(r.start) + 1 }

func (r *run) random(n int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(n))) }

// fail keeps an answer that no failure explains.
func (r *run) fail(err error) {
	select {
	case r.failures <- err:
	default:
	}
}

// fire lets clients work until they were given each elements, then lets a fault happen,
// and so on, and returns the verdict.
func (r *run) fire(each int, faults ...func()) *Verdict {
	r.t.Helper()
	r.begin()
	for _, fault := range faults {
		r.awaitDeliveries(each)
		fault()
	}
	r.awaitDeliveries(each)
	return r.end()
}

// awaitDeliveries returns when consumers were given so many more elements.
func (r *run) awaitDeliveries(more int) {
	r.t.Helper()
	before := r.ledger.Delivered()
	r.await("more elements to be delivered", func() bool { return r.ledger.Delivered() >= before+more })
}

// end ends all clients and returns the verdict.
func (r *run) end() *Verdict {
	r.t.Helper()
	close(r.produced)
	for _, p := range r.producers {
		<-p.ended
	}
	r.await("the queues to become empty", r.empty)
	close(r.asleep)
	r.await("the consumers to end", r.consumed)
	r.work.Wait()
	asleep := r.finale()
	v := r.judge()
	if len(asleep) > 0 {
		v.Broken[Asleep] = asleep
	}
	return v
}

// begin starts all clients: of each kind and each node two consumers for each key, one for
// both keys, and a producer.
func (r *run) begin() {
	for _, n := range r.nodes {
		for k, kind := range kinds {
			keys := []string{r.queues[k*queuesOfKind].key, r.queues[k*queuesOfKind+1].key}
			all := [][]string{keys[:1], keys[1:], keys[:1], keys[1:]}
			if !kind.moves {
				all = append(all, keys)
			}
			for _, some := range all {
				c := &consumer{run: r, client: client{node: n}, kind: kind, keys: some, most: kind.most, to: fmt.Sprintf("work:%d", len(r.consumers))}
				c.random = r.random(1000 + len(r.consumers))
				r.consumers = append(r.consumers, c)
			}
			p := &producer{run: r, client: client{node: n}, queues: r.queues[k*queuesOfKind : (k+1)*queuesOfKind], ended: make(chan struct{})}
			p.random = r.random(len(r.producers))
			r.producers = append(r.producers, p)
		}
	}
	for _, c := range r.consumers {
		c.ended = make(chan struct{})
		r.work.Go(c.work)
	}
	for _, p := range r.producers {
		r.work.Go(p.work)
	}
	for _, n := range r.nodes {
		r.monitoring.Go(func() { r.monitor(n) })
	}
	if r.cuts {
		r.work.Go(r.cut)
	}
}

// cut ends connections at random while the producers work.
func (r *run) cut() {
	random := r.random(1 << 20)
	for r.sleep(random, 40*time.Millisecond, r.produced) {
		if random.IntN(4) == 0 {
			r.producers[random.IntN(len(r.producers))].cut()
		} else {
			r.consumers[random.IntN(len(r.consumers))].cut()
		}
	}
}

// sleep pauses for at most so long, and reports whether done is still open.
func (r *run) sleep(random *rand.Rand, longest time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(longest)))):
		return true
	}
}

// monitor asks a node again and again who waits there, until all consumers have ended.
func (r *run) monitor(n node) {
	random := r.random(1<<21 + 1)
	c := &client{node: n}
	defer c.cut()
	for r.sleep(random, 20*time.Millisecond, r.t.Context().Done()) {
		if !c.connect() {
			continue
		}
		asked := r.now()
		addresses, err := c.blocked()
		if err != nil {
			continue // a reply that is not a list: the node fails
		}
		answered := r.now()
		for _, consumer := range r.consumers {
			consumer.seen(addresses, c.server, asked, answered)
		}
		if r.finished() {
			return
		}
	}
}

func (r *run) finished() bool {
	select {
	case <-r.asleep:
		return r.consumed()
	default:
		return false
	}
}

func (r *run) consumed() bool {
	for _, c := range r.consumers {
		select {
		case <-c.ended:
		default:
			return false
		}
	}
	return true
}

// await waits for a condition. One that does not come ends the test.
func (r *run) await(what string, condition func() bool) {
	r.t.Helper()
	if !r.within(await.Limit, condition) {
		require.Fail(r.t, "never: "+what, "%d elements were delivered; the queues hold %v", r.ledger.Delivered(), r.census())
	}
}

// within reports whether a condition comes, and gives up when a time has passed in which no element was
// delivered: while some are, the machine is merely busy.
func (r *run) within(patience time.Duration, condition func() bool) bool {
	for delivered := -1; ; {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		came := await.Until(ctx, condition)
		cancel()
		now := r.ledger.Delivered()
		if came || now == delivered {
			return came
		}
		delivered = now
	}
}

// empty reports whether no queue holds an element.
func (r *run) empty() bool {
	for _, q := range r.queues {
		if held, err := r.read(q); err != nil || len(held) > 0 {
			return false
		}
	}
	return true
}

// read reads a key by the first node.
func (r *run) read(q queue) (elements []string, err error) {
	c := &client{node: r.nodes[0]}
	defer c.cut()
	if !c.connect() {
		return nil, errCut
	}
	reply, err := c.do(q.allWords()...)
	if err == nil {
		err = reply.Err()
	}
	for _, e := range reply.Elems {
		elements = append(elements, string(e.Str))
	}
	return elements, err
}

// census reads all queues and all lists to which elements were moved.
func (r *run) census() Census {
	census := make(Census)
	all := append([]queue(nil), r.queues...)
	for _, c := range r.consumers {
		if c.kind.moves {
			all = append(all, queue{c.to, c.kind})
		}
	}
	for _, q := range all {
		elements, err := r.read(q)
		require.NoError(r.t, err)
		if len(elements) > 0 {
			census[q.key] = elements
		}
	}
	return census
}

func (r *run) judge() *Verdict {
	r.t.Helper()
	v := r.ledger.Judge(r.census())
	r.t.Logf("%d elements pushed (%d refused, %d unknown), %d delivered, %d lost with their own connections; order judged %d times",
		v.Pushed, v.Refused, v.Unknown, v.Delivered, v.Excused, v.Compared)
	close(r.failures)
	for err := range r.failures {
		r.t.Error(err)
	}
	return v
}

// check fails the test for broken promises.
func (v *Verdict) check(t *testing.T) {
	t.Helper()
	for rule, sentences := range v.Broken {
		t.Errorf("%d times: %s:", len(sentences), rule)
		for _, s := range sentences[:min(len(sentences), 10)] {
			t.Log(s)
		}
	}
}
