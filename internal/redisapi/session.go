package redisapi

import (
	"cmp"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

// session holds what a client has set on its connection.
type session struct {
	proto         resp.Proto
	authenticated bool
	begun         int64 // engine clock, when it last became unauthenticated
	database      int
	name          string
	library       string // CLIENT SETINFO
	libraryVer    string
	client        *observe.Client // these three, and the door: see identify

	multi    bool // between MULTI and EXEC
	dirty    bool // a command was refused while queueing
	queue    []queuedCommand
	queueLen int // bytes

	watched *watchSet // nil if there are none

	tracking trackingMode

	monitoring bool // after MONITOR

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
	c.identify()
	c.mu.Unlock()
}

// identify says who the client is, if that has changed since. What was given away stays as
// it was. The lock is held, or the connection is new.
func (c *Conn) identify() {
	s := &c.session
	name, library, version := observe.CutName(s.name), observe.CutName(s.library), observe.CutName(s.libraryVer)
	if s.client == nil || s.client.Name != name || s.client.Library != library || s.client.Version != version {
		s.client = &observe.Client{Door: cmp.Or(c.info.Door, observe.DoorRedis), Name: name, Library: library, Version: version, Address: c.info.RemoteAddr}
	}
}

// by is the client and one of its commands.
func (c *Conn) by(cmd *Command) observe.Caller {
	return observe.Caller{Client: c.client, Command: cmd.fullName}
}
