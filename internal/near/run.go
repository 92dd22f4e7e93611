package near

import (
	"context"
	"errors"
	"time"
)

// Run polls until ctx ends, and returns nil then. It gives an error at once if
// Memory runs already. It starts one more goroutine, which has ended when Run
// returns. Nothing is served afterwards.
func (m *Memory) Run(ctx context.Context) error {
	if !m.enter() {
		return errors.New("near: Run is called already; one call serves a Memory")
	}
	defer m.leave()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		if m.entries != nil {
			m.sweepUntil(ctx)
		}
	}()
	l := loop{m: m, read: m.clock()}
	for ctx.Err() == nil {
		if l.wanted() || l.await(ctx) {
			l.step(ctx)
		}
	}
	<-swept
	return nil
}

// enter tells whether nothing polls yet.
func (m *Memory) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		return false
	}
	m.running, m.ran = true, m.clock()
	return true
}

// leave ends the lease. Entries stay, and may be served again under another Run.
func (m *Memory) leave() {
	m.mu.Lock()
	m.running = false
	v := *m.view.Load()
	v.end = Instant{}
	m.view.Store(&v)
	m.signalAll()
	m.mu.Unlock()
	m.tellMissed()
}

// unread is how long polls go on after the last read.
const unread = time.Second

// loop is the state of Run between two polls.
type loop struct {
	m      *Memory
	read   Instant // when a read was last noticed
	paused bool    // no poll was wanted since the last one
	failed int     // polls in a row
	outage Instant // when the lease ended while polls failed; zero: it has not
	heard  Instant // when the last poll was sent whose answer came
	told   Instant // when the Listener was told last that polls fail; zero: they do not
}

// wanted tells whether polls are wanted. Those that are not cost nothing but the
// lease: the next one resumes from the cursor.
func (l *loop) wanted() bool {
	now := l.m.clock()
	if l.m.asked.Swap(false) {
		l.read = now
	}
	return now.since(l.read) < unread || l.m.parkedWrites() > 0 || l.m.awaited() || l.m.listened()
}

// Idle tells whether Run waits for somebody who wants polls, and makes none.
func (m *Memory) Idle() bool { return m.idle.Load() }

// await waits until a read wants polls, and tells whether one does.
func (l *loop) await(ctx context.Context) bool {
	l.m.idle.Store(true)
	defer func() {
		l.m.resumed.Store(l.m.clock().mono)
		l.m.idle.Store(false)
	}()
	l.paused = true
	for !l.m.asked.Load() {
		select {
		case <-l.m.wake:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// step polls once, and waits until the next poll is due.
func (l *loop) step(ctx context.Context) {
	m := l.m
	sent, end := m.send(), m.view.Load().end
	err := m.poll(ctx, sent)
	if ctx.Err() != nil {
		return
	}
	done := m.clock()
	pause := m.options.Bound/3 - done.since(sent)
	if err != nil {
		m.missed()
		// At first soon, so that one broken connection does not cost the
		// lease.
		pause = max(m.options.Bound>>max(0, 4-l.failed), time.Millisecond)
		l.failed++
		m.counts.failed.Add(1)
		l.tellOutage(done)
	} else {
		l.failed, l.heard, l.told = 0, sent, Instant{}
		if !l.paused && end != (Instant{}) && !done.before(end) {
			m.counts.lapses.Add(1)
		}
		if end = m.view.Load().end; end != (Instant{}) && !done.before(end) {
			err = errLate
		}
	}
	l.paused = false
	l.note(err, done)
	m.tellTime(done)
	select {
	case <-time.After(pause):
	case <-m.hurry:
	case <-ctx.Done():
	}
}

// errLate is what a poll amounts to whose lease was over when it was answered.
var errLate = errors.New("near: polls take longer than the bound; choose a longer one")

// send begins a poll.
func (m *Memory) send() Instant {
	m.mu.Lock()
	m.sent++
	m.mu.Unlock()
	m.own.sent()
	return m.clock()
}

// poll asks PostgreSQL once. A database that does not answer ends it, so that
// the next poll finds another connection.
func (m *Memory) poll(ctx context.Context, sent Instant) error {
	ctx, cancel := context.WithTimeout(ctx, max(m.options.Bound, time.Second))
	defer cancel()
	answer, err := m.options.Poll(ctx, m.follow.cursor)
	if err != nil {
		return err
	}
	m.counts.polled(m.clock().since(sent))
	if m.entries != nil {
		m.crowded.Store(int64(m.entries.WeightedSize()) > m.bytes.Load()/4*3)
	}
	return m.apply(sent, answer)
}

// note logs the begin and the end of an outage, in the words of those whom it concerns: without
// entries that is the Listener alone, and nobody where it wants nothing.
func (l *loop) note(err error, now Instant) {
	log := l.m.options.Logger
	began, ended := "The near cache is not served, and reads ask PostgreSQL, because polls for changes fail.", "The near cache is served again."
	if l.m.entries == nil {
		began, ended = "Clients that track keys are told late of changes, because polls for them fail.", "Clients that track keys are told of changes in time again."
	}
	if err == nil {
		if l.outage != (Instant{}) {
			log.Info(ended, "after", now.since(l.outage))
		}
		l.outage = Instant{}
		return
	}
	concerned := l.m.entries != nil || l.m.listened()
	if concerned && l.outage == (Instant{}) && !now.before(l.m.view.Load().end) {
		l.outage = now
		log.Warn(began, "err", err)
	}
}
