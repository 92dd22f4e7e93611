package bus

import (
	"sync"
	"time"

	"github.com/howdah/howdah/internal/fault"
)

// members is who in this process wants messages.
type members struct {
	mu      sync.Mutex
	counts  [kindsEnd]int       // of receivers
	left    [kindsEnd]time.Time // when the last one left
	settled kinds               // all others know that this process wants them
	joining []joining
}

// joining is a receiver that waits until others know of it.
type joining struct {
	kind Kind
	done func(error)
}

// Join counts one more receiver of a kind of messages. joined says that every message
// which another process begins to publish from now on will be delivered; if not, done
// is called when that is so, or with an error, and the receiver does not count then. It
// takes about 250 ms for the first receiver of a kind. done must not block. Errors, also
// those that done gets: fault.ErrNotRunning, ErrUnavailable, ErrTimeout, ErrPermission.
func (b *Bus) Join(k Kind, done func(error)) (joined bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.running {
		return false, fault.ErrNotRunning
	}
	joined = b.members.join(k, done)
	if !joined {
		signal(b.wake)
	}
	return joined, nil
}

// Leave ends what Join began for one receiver that others know of: not for one that waits or
// that they could not be told of.
func (b *Bus) Leave(k Kind) { b.members.leave(k) }

func (m *members) join(k Kind, done func(error)) (joined bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[k]++
	if m.settled.has(k) {
		return true
	}
	m.joining = append(m.joining, joining{k, done})
	return false
}

func (m *members) leave(k Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts[k] == 0 {
		return // it did not count: a count below 0 would hide those who join later
	}
	m.counts[k]--
	m.left[k] = time.Now()
}

// wanted is the kinds that have receivers, or had some lately. What is not among them is
// not settled any more: a receiver that joins from now on waits.
func (m *members) wanted(now time.Time) (s kinds, subscribers, waiters int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range kindsEnd {
		if m.counts[k] > 0 || m.settled.has(k) && now.Sub(m.left[k]) < linger {
			s |= k.bit()
		}
	}
	m.settled &= s
	return s, m.counts[Published] + m.counts[ShardPublished], m.counts[Ready]
}

// settle notes that all others know the kinds that this process wants, and tells those
// who wait for it.
func (m *members) settle(s kinds) {
	m.mu.Lock()
	m.settled |= s
	var told, rest []joining
	for _, j := range m.joining {
		if s.has(j.kind) {
			told = append(told, j)
		} else {
			rest = append(rest, j)
		}
	}
	m.joining = rest
	m.mu.Unlock()
	for _, j := range told {
		j.done(nil)
	}
}

// fail tells those who wait that others could not be told of them.
func (m *members) fail(err error) {
	m.mu.Lock()
	failed := m.joining
	m.joining = nil
	for _, j := range failed {
		m.counts[j.kind]--
	}
	m.mu.Unlock()
	for _, j := range failed {
		j.done(err)
	}
}

// unsettle notes that others do not know this process any more.
func (m *members) unsettle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = 0
}
