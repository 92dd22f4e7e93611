package redisapi

import "github.com/howdah/howdah/internal/resp"

// session is what a client has set on its connection.
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

// reset is a new connection's session, or that after RESET.
func (s *session) reset(e *Engine) {
	begun := s.begun
	if s.authenticated { // else RESET would put off the time for the password
		begun = e.clock()
	}
	s.unwatch()
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
func (s *session) unwatch() {
	s.watched.release()
	s.watched = nil
}

// set changes what the client has set, so that others can see it.
func (c *Conn) set(change func(s *session)) {
	c.mu.Lock()
	change(&c.session)
	c.mu.Unlock()
}
