package core

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
)

// popper waits for a list, as BLPOP does, and takes its first element.
func popper(db *DB, key []byte) (w *edit.Waiter, took *string) {
	w, took = &edit.Waiter{All: db.Waiters(), Keys: [][]byte{key}, Kind: values.KindList}, new(string)
	w.Run = func(v *edit.View, keys [][]byte) bool {
		e := v.Entry(keys[0])
		list, ok := e.Value.(*values.List)
		if ok {
			*took = list.Pop(true)
			e.Put(list)
		}
		return ok
	}
	return w, took
}

// A caller that waits is served by what another process leaves, which says so.
func TestBlockedCallersOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	here, there := openDB(t, url), openDB(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, db := range []*DB{here, there} {
		work.Go(func() { _ = db.Run(ctx) })
	}
	key := []byte("l")
	push := func() {
		_, err := there.Cache("db0").RPush(ctx, key, [][]byte{[]byte("v")}, 0)
		require.NoError(t, err)
	}
	for deadline := time.Now().Add(time.Minute); here.Bus().Stats().Received == 0; {
		require.True(t, time.Now().Before(deadline), "nothing was announced")
		ended := make(chan error, 1)
		w, took := popper(here, key)
		here.Cache("db0").Wait(w, func(w *edit.Waiter) { ended <- w.Err })
		require.Eventually(t, w.HasWaited, time.Minute, time.Millisecond)
		push()
		require.NoError(t, <-ended)
		require.Equal(t, "v", *took)
	}
	require.Zero(t, here.Waiters().Count())
}

// membership is a bus that counts who has joined, and answers when it is told to.
type membership struct {
	mu      sync.Mutex
	count   int // of those who have joined, or have asked to
	settled bool
	refuses bool
	asked   func(error)
}

func (m *membership) Join(_ bus.Kind, answer func(error)) (joined bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses {
		return false, errors.New("refused")
	}
	m.count++
	if !m.settled {
		m.asked = answer
	}
	return m.settled, nil
}

func (m *membership) Leave(bus.Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count--
}

func (m *membership) joined() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *membership) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = false
}

func (m *membership) refuse(refuses bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = refuses
}

// answer says that others know, or could not be told.
func (m *membership) answer(err error) {
	m.mu.Lock()
	answer := m.asked
	if m.asked = nil; err != nil {
		m.count--
	}
	m.settled = err == nil
	m.mu.Unlock()
	answer(err)
}

// Whatever happens while callers come and go, the process takes part once if some wait and
// not at all if none does, and looks for what came before others knew.
func TestAnnouncementsAreWantedOnce(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	for range 1000 {
		m, looks := new(membership), 0
		a := &interest{bus: m, kind: bus.Ready, joined: func() { looks++ }}
		wants := false
		for range 30 {
			switch r.IntN(4) {
			case 0:
				wants = r.IntN(2) == 0
				a.want(wants)
			case 1:
				m.refuses = r.IntN(3) == 0
			case 2:
				if m.asked == nil {
					m.settled = r.IntN(2) == 0 // those who have left are forgotten after a while
				}
			case 3:
				if m.asked == nil {
					continue
				}
				before := looks
				if err := []error{nil, errors.New("not told")}[r.IntN(2)]; err == nil {
					m.answer(nil)
					require.Equal(t, before+1, looks)
				} else {
					m.answer(err)
					require.Equal(t, before, looks)
				}
			}
			require.Contains(t, []int{0, 1}, m.count)
		}
		m.refuses = false
		a.want(wants)
		if m.asked != nil {
			m.answer(nil)
		}
		require.Equal(t, wants, m.count == 1)
	}
}
