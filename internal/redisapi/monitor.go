package redisapi

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

const (
	errMonitorOff = refusal("ERR MONITOR is off on this server, which runs with --monitor=false")
	errMonitors   = refusal("ERR Replica can't interact with the keyspace")
	errInMulti    = refusal("ERR MONITOR isn't allowed for DENY BLOCKING client")
)

func monitorCommands() []*Command {
	return []*Command{{
		Name: "monitor", Arity: 1, Flags: "admin noscript loading stale", Group: "server", Since: "1.0.0",
		Summary: "Shows the commands of all clients as they come", Complexity: "O(1)",
		Note: "`howdah serve --monitor=false` refuses it. Keys are shown up to their secrets; of every other argument only the length is, and of AUTH and HELLO nothing. " +
			"At most 100 lines each tenth of a second: what is dropped beyond is counted in a line of the command howdah.dropped. " +
			"A command inside MULTI is shown when it is queued, those of a script are not, and GET is not answered in the fastest way meanwhile.", now: monitor,
	}}
}

// Bounds of MONITOR.
const (
	monitorWindow  = 100 * time.Millisecond
	monitorLines   = 100 // in a window
	monitorWords   = 32  // arguments in a line
	monitorKey     = 64  // bytes of a key
	monitorBacklog = 256 << 10
)

// monitors are the connections that are shown the commands of all.
type monitors struct {
	count   atomic.Int32
	full    atomic.Int64  // engine clock until when no more lines are made
	dropped atomic.Uint64 // lines that were not made

	mu    sync.Mutex
	conns map[*Conn]bool
	ends  int64 // engine clock of the end of the window
	lines int   // in it
}

// monitorState is what a connection has been shown. It is guarded by the connection's lock.
type monitorState struct {
	seen    uint64 // of monitors.dropped, that it was told of
	dropped uint64 // lines that it did not take
	waiting int    // bytes that wait for it
}

// any reports whether somebody watches.
func (m *monitors) any() bool { return m.count.Load() > 0 }

// monitor runs MONITOR. No line comes before its reply.
func monitor(c *Conn, _ [][]byte, reply []byte) []byte {
	switch {
	case c.engine.options.NoMonitor:
		return resp.AppendError(reply, string(errMonitorOff))
	case c.pipe.Exclusively():
		return resp.AppendError(reply, string(errInMulti))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return reply
	}
	if !c.muted {
		c.pipe.Append([]byte(resp.OK))
	}
	c.monitoring = true
	c.engine.monitors.add(c)
	return reply
}

func (m *monitors) add(c *Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns == nil {
		m.conns = make(map[*Conn]bool)
	}
	c.monitor = monitorState{seen: m.dropped.Load()}
	m.conns[c] = true
	m.count.Store(int32(len(m.conns)))
}

func (m *monitors) remove(c *Conn) {
	if !m.any() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
	m.count.Store(int32(len(m.conns)))
}

// show shows a command that has begun: a client that watches gets its own replies first.
// As in Redis, those of an administrator are
// not shown.
func (m *monitors) show(c *Conn, cmd *Command, args [][]byte) {
	if cmd.has("admin") {
		return
	}
	now := c.engine.clock()
	if now < m.full.Load() {
		m.dropped.Add(1)
		return
	}
	watchers := m.begin(now)
	if watchers == nil {
		return
	}
	line := monitorLine(c, cmd, args, c.engine.options.DB.Mask())
	for _, watcher := range watchers {
		watcher.deliverLine(line)
	}
}

// begin counts a line, and returns who is to get it; nil if there are too many lines.
func (m *monitors) begin(now int64) []*Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now >= m.ends {
		m.ends, m.lines = now+int64(monitorWindow), 0
	}
	if m.lines == monitorLines {
		m.full.Store(m.ends)
		m.dropped.Add(1)
		return nil
	}
	m.lines++
	watchers := make([]*Conn, 0, len(m.conns))
	for c := range m.conns {
		watchers = append(watchers, c)
	}
	return watchers
}

// deliverLine pushes a line, behind one that says how many were dropped. A client that
// does not read gets none.
func (c *Conn) deliverLine(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, all := &c.monitor, c.engine.monitors.dropped.Load()
	switch {
	case c.closed || !c.monitoring || c.engine.silent.Load():
		return
	case int64(state.waiting)+c.backlog.Load() > monitorBacklog:
		state.dropped++
		state.waiting = c.pipe.Load().Ready // what it has taken since
		return
	}
	if dropped := state.dropped + all - state.seen; dropped > 0 {
		state.dropped, state.seen = 0, all
		c.pipe.Push(droppedLine(dropped))
	}
	state.waiting = c.pipe.Push(line)
}

// droppedLine has the form of the other lines: clients take them apart.
func droppedLine(n uint64) []byte {
	line := appendMonitorTime(nil)
	return append(line, fmt.Sprintf(" [0 howdah:0] \"howdah.dropped\" \"%d\"\r\n", n)...)
}

func appendMonitorTime(line []byte) []byte {
	now := time.Now().UnixMicro()
	return fmt.Appendf(line, "+%d.%06d", now/1e6, now%1e6)
}

// monitorLine returns the line for a command, in the form of Redis. It shows the command,
// and its keys without their secrets.
func monitorLine(c *Conn, cmd *Command, args [][]byte, mask *observe.Mask) []byte {
	line := appendMonitorTime(make([]byte, 0, 128))
	line = fmt.Appendf(line, " [%d %s]", c.database, c.info.RemoteAddr)
	names := 1
	if cmd.parent != nil {
		names = 2
	}
	isKey := cmd.keyIndexes(args)
	for i, arg := range args {
		switch {
		case i == monitorWords:
			line = fmt.Appendf(line, ` "... (%d more arguments)"`, len(args)-i)
			return append(line, '\r', '\n')
		case i < names:
			line = appendQuoted(line, string(arg))
		case isKey[i]:
			shown, _ := mask.KeyCut(arg, monitorKey)
			line = appendQuoted(line, shown)
		case cmd.noAuth:
			line = append(line, ` "(redacted)"`...)
		default:
			line = fmt.Appendf(line, ` "(%d bytes)"`, len(arg))
		}
	}
	return append(line, '\r', '\n')
}

// keyIndexes returns which of the arguments that MONITOR shows are keys.
func (cmd *Command) keyIndexes(args [][]byte) (is [monitorWords]bool) {
	for _, spec := range cmd.Keys {
		if !spec.isKeys() || !spec.fits(args) { // of a wrong count of keys, what follows may be no key
			continue
		}
		first, last := spec.bounds(args)
		for i := first; i <= last && i < min(len(args), monitorWords); i += spec.Step {
			is[i] = true
		}
	}
	return is
}

// appendQuoted appends a space and a text as Redis quotes it.
func appendQuoted(line []byte, text string) []byte {
	line = append(line, ' ', '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			line = append(line, '\\', c)
		case c == '\n':
			line = append(line, '\\', 'n')
		case c == '\r':
			line = append(line, '\\', 'r')
		case c == '\t':
			line = append(line, '\\', 't')
		case c == '\a':
			line = append(line, '\\', 'a')
		case c == '\b':
			line = append(line, '\\', 'b')
		case c < ' ' || c > '~':
			line = append(line, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			line = append(line, c)
		}
	}
	return append(line, '"')
}

const hexDigits = "0123456789abcdef"

// usesKeyspace reports whether a command is refused to a client that watches, as to a
// replica of Redis.
func (cmd *Command) usesKeyspace() bool {
	return cmd.writes || cmd.has("readonly") || cmd.publishes || cmd.edit != nil
}
