package redisapi

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
)

// pause is what CLIENT PAUSE has asked for. A connection whose command it holds is
// blocked: it costs no goroutine, and begins that command when the pause ends.
type pause struct {
	mode atomic.Int32 // pauseNone, and what else is the case for commands that come

	mu    sync.Mutex
	end   time.Time
	timer *time.Timer
	held  []*Conn // in the order in which they came
}

// What a pause holds.
const (
	pauseNone int32 = iota
	pauseWrites
	pauseAll
)

// begin begins a pause. During another one the longer and the stricter counts, as in Redis.
func (p *pause) begin(mode int32, length time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end := time.Now().Add(length); p.end.Before(end) {
		p.end = end
	}
	p.mode.Store(max(mode, p.mode.Load()))
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(p.end), p.over)
	} else {
		p.timer.Reset(time.Until(p.end))
	}
}

// over ends the pause if its time is up.
func (p *pause) over() {
	p.mu.Lock()
	if left := time.Until(p.end); left > 0 {
		p.timer.Reset(left)
		p.mu.Unlock()
		return
	}
	p.endAndUnlock() // at once: a pause that begins in between would be lost
}

// stop ends the pause, and has the connections go on.
func (p *pause) stop() {
	p.mu.Lock()
	p.endAndUnlock()
}

// endAndUnlock is stop by a caller that holds the lock. The connections go on without it.
func (p *pause) endAndUnlock() {
	p.mode.Store(pauseNone)
	p.end = time.Time{}
	held := p.held
	p.held = nil
	p.mu.Unlock()
	for _, c := range held {
		c.pipe.Resume(nil, new(pipeline.Output))
	}
}

// pauseStops reports whether a command is to be held now.
func (c *Conn) pauseStops(cmd *Command, args [][]byte) bool {
	e := c.engine
	switch e.pause.mode.Load() {
	case pauseNone:
		return false
	case pauseAll:
		return true
	}
	if cmd.Name == "exec" && cmd.parent == nil {
		return slices.ContainsFunc(c.queue, func(q queuedCommand) bool { return e.mayChange(q.cmd, q.args) })
	}
	return e.mayChange(cmd, args)
}

// mayChange reports whether a command is held by a pause of writes.
func (e *Engine) mayChange(cmd *Command, args [][]byte) bool {
	switch cmd.fullName {
	case "pfcount", "publish", "spublish": // replicas of Redis receive them
		return true
	}
	return cmd.writes && !e.declaresNoWrites(cmd, args)
}

// declaresNoWrites reports whether a command runs a script or a function with the flag
// no-writes. One that this server does not know may write.
func (e *Engine) declaresNoWrites(cmd *Command, args [][]byte) bool {
	flags := lua.Flags(0)
	switch cmd.fullName {
	case "eval":
		flags, _ = lua.FlagsOf(args[1]) // what is wrong with them is said when it runs
	case "evalsha":
		if script := e.scripts.find(args[1]); script != nil {
			flags = script.flags()
		}
	case "fcall":
		if f := e.shared.functions.Load().find(args[1]); f != nil {
			flags = f.flags()
		}
	}
	return flags&lua.NoWrites != 0
}

// hold holds a connection until the pause ends.
func (p *pause) hold(c *Conn) {
	p.mu.Lock()
	over := p.mode.Load() == pauseNone || c.ended.Load()
	if !over {
		p.held = append(p.held, c)
	}
	p.mu.Unlock()
	if over {
		if c.ended.Load() {
			c.hangUp()
		}
		c.pipe.Resume(nil, new(pipeline.Output))
	}
}

// forget takes a connection out, and reports whether it was held.
func (p *pause) forget(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.held, c)
	if i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
	}
	return i >= 0
}

// holds reports whether a connection is held.
func (p *pause) holds(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.held, c)
}

// count is how many connections are held.
func (p *pause) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held)
}

// clientPause runs CLIENT PAUSE.
func clientPause(c *Conn, args [][]byte, reply []byte) []byte {
	mode := pauseAll
	switch {
	case len(args) > 4:
		return resp.AppendError(reply, string(wrongUse("CLIENT", args[1])))
	case len(args) == 4 && is(args[3], "WRITE"):
		mode = pauseWrites
	case len(args) == 4 && !is(args[3], "ALL"):
		return resp.AppendError(reply, "ERR CLIENT PAUSE mode must be WRITE or ALL")
	}
	ms, err := parseTimeout(args[2])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	if ms > math.MaxInt64-time.Now().UnixMilli() {
		ms = 0 // as the sum of Redis overflows: the pause is over
	}
	c.engine.pause.begin(mode, time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
	return append(reply, resp.OK...)
}

// parseTimeout parses a timeout in milliseconds.
func parseTimeout(arg []byte) (ms int64, err error) {
	ms, err = parseInt(arg)
	switch {
	case err != nil:
		return 0, refusal("ERR timeout is not an integer or out of range")
	case ms < 0:
		return 0, refusal("ERR timeout is negative")
	}
	return ms, nil
}

// clientUnpause runs CLIENT UNPAUSE.
func clientUnpause(c *Conn, _ [][]byte, reply []byte) []byte {
	c.engine.pause.stop()
	return append(reply, resp.OK...)
}
