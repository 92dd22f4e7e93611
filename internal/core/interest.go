package core

import (
	"context"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/bus"
)

// interest has other processes send a kind of messages while somebody here wants them.
type interest struct {
	bus interface {
		Join(bus.Kind, func(error)) (joined bool, err error)
		Leave(bus.Kind)
	}
	kind   bus.Kind
	joined func() // others know; they have not sent what came before. Default: nothing to do

	mu      sync.Mutex
	wanted  bool // somebody wants them
	asking  bool // others are being told
	arrives bool // others know
}

// want says whether somebody wants the messages. If others could not be told, the next call
// tries again: while they are wanted, there is one each second.
func (i *interest) want(wanted bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted = wanted
	i.settle()
}

// settle joins or leaves, unless an answer is due that will call it again. i.mu is held.
func (i *interest) settle() {
	switch {
	case i.asking || i.wanted == i.arrives:
	case i.wanted:
		joined, err := i.bus.Join(i.kind, i.answered)
		i.arrives, i.asking = joined, !joined && err == nil
	default:
		i.arrives = false
		i.bus.Leave(i.kind)
	}
}

// answered is called when others know of the interest, or could not be told.
func (i *interest) answered(err error) {
	i.mu.Lock()
	i.asking, i.arrives = false, err == nil
	if i.arrives {
		i.settle() // it may have ended
	}
	i.mu.Unlock()
	if err == nil && i.joined != nil {
		i.joined()
	}
}

// listenEvery is how soon a server is asked again to which it could not be said who listens.
const listenEvery = time.Second

// keepListening says at a server beside home who listens, each time that it may not be known
// there, until ctx ends or the server holds nothing any more.
func (s *servers) keepListening(ctx context.Context, other *server) {
	ticker := time.NewTicker(listenEvery)
	defer ticker.Stop()
	for !other.db.engines.Closed() {
		s.mu.Lock()
		s.tell(other)
		s.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// tell says at a server beside home who listens. s.mu is held.
func (s *servers) tell(other *server) {
	for kind, of := range other.interests {
		of.want(s.listens[kind] > 0)
	}
}

// listen counts one more, or one less, who listens. What SQL functions and upkeep publish on
// servers beside home is told there, as soon as they know of it.
func (s *servers) listen(kind bus.Kind, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listens[kind] += more
	for _, other := range s.others {
		s.tell(other)
	}
}
