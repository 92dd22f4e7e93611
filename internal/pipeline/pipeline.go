package pipeline

import (
	"sync"
	"sync/atomic"
)

// Reply is one request from its start until its reply is encoded.
type Reply interface {
	// place is where the pipeline keeps what it knows of the request: embed a [Place].
	place() *Place

	// Hold and Drop count the values of the finished request.
	Hold(*Values)
	Drop(*Values)

	// Encode appends the reply to dst. A large value goes into out by Insert,
	// at the length that dst has. It may return dst cut off where it began, for
	// no reply.
	Encode(dst []byte, out *Output) []byte

	// Release is called once, when the pipeline needs the request no more.
	Release()
}

// Place is the place of a request among the replies. Embed it in the request
// and Reset it before the request is used again.
type Place struct {
	next  Reply  // the one that is answered after it
	done  bool   // its outcome is known
	after Output // replies of requests behind it that needed no call
	size  int    // bytes that its arguments take
}

// place implements a part of [Reply] for what embeds it.
func (p *Place) place() *Place { return p }

// Reset makes the place new.
func (p *Place) Reset() {
	p.next, p.done, p.size = nil, false, 0
	p.after.empty(keepSmall)
}

// Options of a [Pipeline].
type Options struct {
	MaxRequests int     // that are started and whose replies are not taken
	MaxBytes    int     // of arguments, values and replies; one request may exceed it alone
	Budget      *Budget // that all connections share; nil: none

	// Wake is called, from any goroutine and without a lock, when replies have
	// become ready or requests may be started again. It is not called again
	// before Output has been.
	Wake func()
}

// Pipeline is the requests of one connection in the order of their replies.
// BeginInput, Admit, Start, Answer, Append, Exclusive and EndInput are called by one
// goroutine at a time, Output by one at a time; Finish, Resume, Push and the rest by
// any.
type Pipeline struct {
	options Options
	killed  atomic.Bool

	mu         sync.Mutex
	account    Account
	ready      Output // replies that are ready, before those of the queue
	head, tail Reply  // requests in the order of their replies
	open       Reply  // of them, one before which all are finished; nil: all are
	inFlight   int    // of them, those not finished
	queued     int    // of them, all
	arguments  int    // bytes of the requests
	values     Values // of the finished requests
	after      int    // memory of replies that wait behind a request
	input      int    // bytes that the connection holds besides
	expected   int    // bytes that a request in flight may bring, by experience
	task       func() // has the connection to itself, or waits for that
	feeding    bool   // EndInput follows: its caller will ask for Output
	woken      bool   // Wake was called, Output was not
	stalled    bool   // input waits because of a bound or a task
	closing    bool   // no more input; close when all replies are out
	closed     bool
}

// firstGuess divides MaxBytes: a new connection may start so many requests
// before it is known how large their values are.
const firstGuess = 256

// New makes the pipeline of a new connection.
func New(options Options) *Pipeline {
	return &Pipeline{options: options, account: NewAccount(options.Budget), expected: options.MaxBytes / firstGuess}
}

// BeginInput is called before requests are started. Until EndInput the pipeline
// calls no Wake: its caller asks for Output afterwards.
func (p *Pipeline) BeginInput() {
	p.mu.Lock()
	p.feeding = true
	p.mu.Unlock()
}

// EndInput is called after BeginInput, with the number of bytes that the
// connection holds besides its requests, such as input that it did not take. It
// reports whether no more input is wanted ever.
func (p *Pipeline) EndInput(held int) (over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.feeding = false
	p.input = held
	p.settle()
	return p.closing || p.closed
}

// Admit tells whether another request may be started. If not, Wake is called
// when it may.
func (p *Pipeline) Admit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || p.closed {
		return false
	}
	p.stalled = p.task != nil || !p.room()
	return !p.stalled
}

// Fits tells whether the server can take a request of size bytes, of which
// missing are still to come.
func (p *Pipeline) Fits(size, missing int) bool { return p.options.Budget.fits(size, missing) }

// Exceeded tells whether the connections hold more than the budget.
func (p *Pipeline) Exceeded() bool { return p.options.Budget.Exceeded() }

func (p *Pipeline) room() bool {
	// A value that many requests share is held once and sent to each.
	if p.queued >= p.options.MaxRequests || p.values.due >= p.options.MaxBytes {
		return false
	}
	bound := min(p.options.MaxBytes, p.options.Budget.share())
	return p.held()+p.inFlight*p.expected < bound || p.held()+p.inFlight == 0
}

// held is what waits to be written or to be answered.
func (p *Pipeline) held() int {
	return p.arguments + p.values.bytes + p.after + p.ready.unwritten()
}

func (p *Pipeline) settle() { p.account.Set(p.held() + p.input) }

// Append adds a reply that is ready, behind those of all earlier requests. The
// reply is copied.
func (p *Pipeline) Append(reply []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last().Append(reply)
	if p.tail != nil {
		p.after += len(reply)
	}
}

// Push adds a message that answers no request, behind the replies of all requests that
// were started before. So it never overtakes what was appended before it, and waits
// for requests in flight; while something has the connection to itself it goes out at
// once. A message of [Large] bytes or more is kept, not copied, and must not be
// modified any more.
//
// Push returns the memory of everything that waits for Output and for the requests in
// front of it, in bytes. The message is lost if the connection is closed, or is to be
// closed after the replies that it owes.
func (p *Pipeline) Push(message []byte) (waiting int) {
	p.mu.Lock()
	if p.closing || p.closed {
		p.mu.Unlock()
		return 0
	}
	last := p.last()
	before := last.unwritten()
	last.AppendOwned(message)
	if p.tail != nil {
		p.after += last.unwritten() - before
	}
	p.settle()
	waiting = p.ready.unwritten() + p.after
	// Behind a request the message is written when that is, which wakes the connection.
	wake := p.tail == nil && p.mustWake()
	p.mu.Unlock()
	if wake {
		p.options.Wake()
	}
	return waiting
}

// last is where replies go that are ready.
func (p *Pipeline) last() *Output {
	if p.tail != nil {
		return &p.tail.place().after
	}
	return &p.ready
}

// Start puts a request, whose arguments take size bytes, behind all others. It
// reports false, and has released the request, if the connection is closed.
// Finish must follow.
func (p *Pipeline) Start(r Reply, size int) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		r.Release()
		return false
	}
	p.enqueue(r)
	r.place().size = size
	p.inFlight++
	p.arguments += size
	p.mu.Unlock()
	return true
}

// Answer is Start and Finish of a request whose outcome is known when it comes, and
// whose arguments need not be kept. It is called between BeginInput and EndInput.
func (p *Pipeline) Answer(r Reply) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		r.Release()
		return
	}
	p.enqueue(r)
	r.place().done = true
	r.Hold(&p.values)
	p.mu.Unlock()
}

func (p *Pipeline) enqueue(r Reply) {
	if p.tail == nil {
		p.head = r
	} else {
		p.tail.place().next = r
	}
	p.tail = r
	if p.open == nil {
		p.open = r
	}
	p.queued++
}

// Finish says that the outcome of a request is known.
func (p *Pipeline) Finish(r Reply) {
	p.mu.Lock()
	p.inFlight--
	if p.closed {
		p.mu.Unlock()
		r.Release()
		return
	}
	r.place().done = true
	// A value that others have too counts: what a client asks for is bounded by what
	// it would be sent, so that its requests do not stand before those of others.
	before := p.values.total
	r.Hold(&p.values)
	p.expected = max(p.values.total-before, p.expected-p.expected/16)
	p.settle()
	var begin func()
	if p.inFlight == 0 {
		begin = p.task
	}
	wake := r == p.head && p.mustWake()
	p.mu.Unlock()
	if begin != nil {
		begin()
	}
	if wake {
		p.options.Wake()
	}
}

// InFlight returns how many requests are started and not finished.
func (p *Pipeline) InFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight
}

// IsNext reports whether the outcome of every request before r, which is not finished,
// is known.
func (p *Pipeline) IsNext(r Reply) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open != nil && p.open.place().done {
		p.open = p.open.place().next
	}
	return p.open == nil || p.open == r
}

// mustWake reports whether Wake must be called.
func (p *Pipeline) mustWake() bool {
	if p.woken || p.feeding || p.closed {
		return false
	}
	p.woken = true
	return true
}

// Exclusive has begin called, at once or when the requests in flight are
// finished, and starts nothing more before Resume.
func (p *Pipeline) Exclusive(begin func()) {
	p.mu.Lock()
	p.task = begin
	now := p.inFlight == 0 && !p.closed
	p.mu.Unlock()
	if now {
		begin()
	}
}

// Resume ends what Exclusive began, with its reply and the values that were
// inserted into it. The caller gives both away.
func (p *Pipeline) Resume(reply []byte, values *Output) {
	p.mu.Lock()
	p.task = nil
	if p.closed {
		p.mu.Unlock()
		return
	}
	last := p.last()
	before := last.unwritten()
	last.appendReply(reply, values)
	if p.tail != nil {
		p.after += last.unwritten() - before
	}
	p.settle()
	wake := p.mustWake()
	p.mu.Unlock()
	if wake {
		p.options.Wake()
	}
}

// Output adds the replies that are ready to out, in the order of the requests.
// closing says that no more will follow: write them and close.
func (p *Pipeline) Output(out *Output) (closing bool) {
	p.mu.Lock()
	p.woken = false
	out.Move(&p.ready)
	// Take the finished ones off the queue; they are encoded without the lock.
	first := p.head
	for r := p.head; r != nil && r.place().done; r = p.head {
		place := r.place()
		p.head = place.next
		if p.open == r {
			p.open = place.next
		}
		p.queued--
		p.arguments -= place.size
		p.after -= place.after.unwritten()
		r.Drop(&p.values)
	}
	rest := p.head
	if rest == nil {
		p.tail = nil
	}
	p.settle()
	p.mu.Unlock()

	for r := first; r != rest; {
		place := r.place()
		next := place.next
		out.encode(r)
		out.Move(&place.after)
		r.Release()
		r = next
	}

	p.mu.Lock()
	again := p.stalled && p.task == nil && p.room() && p.mustWake()
	closing = p.closed || p.killed.Load() || p.closing && !p.pending()
	p.mu.Unlock()
	if again {
		p.options.Wake()
	}
	return closing
}

// Pending tells whether a request is not answered yet, or a reply not taken by
// Output.
func (p *Pipeline) Pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending()
}

func (p *Pipeline) pending() bool { return p.head != nil || p.task != nil || p.ready.size > 0 }

// Exclusively tells whether something has the connection to itself, or waits
// for that.
func (p *Pipeline) Exclusively() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.task != nil
}

// HangUp lets no more requests start. Output reports closing when all replies
// are out.
func (p *Pipeline) HangUp() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
}

// Kill lets the connection be closed at once, replies or not. It calls Wake
// even if Output is still to be called, which may be when the client reads
// again.
func (p *Pipeline) Kill() {
	p.mu.Lock()
	p.closing = true
	closed := p.closed
	p.mu.Unlock()
	if !closed && !p.killed.Swap(true) {
		p.options.Wake()
	}
}

// Killed tells whether Kill was called.
func (p *Pipeline) Killed() bool { return p.killed.Load() }

// Close forgets the requests; those in flight are released when they are
// finished. It reports false if it was called before.
func (p *Pipeline) Close() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	for r := p.head; r != nil; {
		place := r.place()
		next := place.next
		place.next = nil
		if place.done {
			r.Release()
		}
		r = next
	}
	p.head, p.tail, p.open = nil, nil, nil
	p.ready.Release()
	p.values = Values{}
	p.arguments, p.after, p.input = 0, 0, 0
	p.account.Set(0)
	return true
}

// Load is what a pipeline holds.
type Load struct {
	Input    int // bytes besides the requests
	Ready    int // memory of replies that wait for nothing but Output
	Requests int // whose replies were not taken
	InFlight int // of them, those not finished
	Bytes    int // of all arguments, values and replies
}

// Load returns what p holds now.
func (p *Pipeline) Load() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Load{p.input, p.ready.unwritten(), p.queued, p.inFlight, p.held()}
}
