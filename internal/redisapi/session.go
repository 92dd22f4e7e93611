package redisapi

import "github.com/howdah/howdah/internal/resp"

// session holds what a client has set on its connection.
type session struct {
	proto         resp.Proto
	authenticated bool
	begun         int64 // engine clock, when it last became unauthenticated
	database      int
	name          string
	library       string // CLIENT SETINFO
	libraryVer    string

	multi    bool // between MULTI and EXEC
	dirty    bool // a command was refused while queueing
	queue    []queuedCommand
	queueLen int // bytes

	watched *watchSet // nil if there are none

	silent   bool // CLIENT REPLY OFF
	skipNext bool // CLIENT REPLY SKIP: the next command
	muted    bool // no reply to the command being dispatched
}

// reset makes the session that of a new connection; RESET does the same.
func (s *session) reset(e *Engine) {
	begun := s.begun
	if s.authenticated { // otherwise RESET would extend the time to authenticate
		begun = e.clock()
	}
	*s = session{
		proto:         resp.RESP2,
		authenticated: e.options.Password == "",
		begun:         begun,
	}
}

// endMulti leaves MULTI and forgets the watched keys.
func (s *session) endMulti() {
	s.multi, s.dirty, s.queue, s.queueLen = false, false, nil, 0
	s.unwatch()
}

// unwatch forgets the watched keys.
func (s *session) unwatch() { s.watched = nil }

// set changes the session under the lock, because other goroutines read it.
func (c *Conn) set(change func(s *session)) {
	c.mu.Lock()
	change(&c.session)
	c.mu.Unlock()
}
