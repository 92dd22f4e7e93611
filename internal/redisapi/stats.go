package redisapi

import (
	"math/bits"
	"strings"
	"sync/atomic"
	"time"
)

// commandCounters holds the counters of one command.
type commandCounters struct {
	failed   atomic.Uint64
	rejected atomic.Uint64 // refused before it started: arity, no AUTH
	nanos    atomic.Uint64
	took     [latencyBuckets]atomic.Uint64 // calls, by the bound that they were within
}

// latencyBuckets are bounds of 1 us, 2 us, 4 us ... 33 s; the last one has what took longer.
const latencyBuckets = 26

func (c *commandCounters) add(nanos int64, failed bool) {
	c.addCalls(1, nanos)
	if failed {
		c.failed.Add(1)
	}
}

// addCalls counts n calls that took as long as each other.
func (c *commandCounters) addCalls(n uint64, nanos int64) {
	nanos = max(0, nanos)
	c.took[min(bits.Len64(uint64(nanos)/1000), latencyBuckets-1)].Add(n)
	if nanos > 0 {
		c.nanos.Add(n * uint64(nanos))
	}
}

// calls is how many were counted.
func (c *commandCounters) calls() (n uint64) {
	for i := range c.took {
		n += c.took[i].Load()
	}
	return n
}

// counters holds the counters of the engine.
type counters struct {
	since          atomic.Int64 // Unix nanoseconds of the last CONFIG RESETSTAT
	connections    atomic.Uint64
	input          atomic.Uint64 // bytes
	output         atomic.Uint64
	rejected       atomic.Uint64
	protocolErrors atomic.Uint64
	authFailures   atomic.Uint64
	cut            atomic.Uint64 // subscribers that did not read
	errors         nameCounts    // error replies, by their first word
	unknown        nameCounts    // commands that Howdah lacks
	unknownBy      nameCounts    // likewise, with the library of the client: see librarySeparator
}

// Stats holds counters since the start, or since the last CONFIG RESETSTAT.
type Stats struct {
	Clients        int // connected now
	Blocked        int // of them, those that wait for a key or for the end of a pause
	Connections    uint64
	Commands       uint64
	Rejected       uint64 // refused before they started, including unknown commands
	ProtocolErrors uint64
	AuthFailures   uint64
	Cut            uint64 // subscribers whose connections were closed because they did not read
	InputBytes     uint64
	OutputBytes    uint64
	PerCommand     []CommandStats // of the commands that were called

	// Errors counts error replies by their first word, such as ERR.
	Errors []NameCount

	// Unknown counts commands that clients sent and Howdah lacks, by their name
	// in lower case, "client|nosuch" for a subcommand. Names are at most 256;
	// further ones, and what does not look like a name, are "other".
	Unknown []NameCount
}

// CommandStats holds the counters of one command or subcommand.
type CommandStats struct {
	Name     string // "get", "client|setname"
	Calls    uint64
	Failed   uint64 // calls that were answered by an error
	Rejected uint64 // refused before they started
	Time     time.Duration
}

// Stats returns a snapshot.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	clients := len(e.clients)
	e.mu.Unlock()
	s := Stats{
		Clients:        clients,
		Blocked:        e.options.DB.Waiters().Count() + e.pause.count(),
		Connections:    e.stats.connections.Load(),
		Rejected:       e.stats.rejected.Load(),
		ProtocolErrors: e.stats.protocolErrors.Load(),
		AuthFailures:   e.stats.authFailures.Load(),
		Cut:            e.stats.cut.Load(),
		InputBytes:     e.stats.input.Load(),
		OutputBytes:    e.stats.output.Load(),
		Errors:         e.stats.errors.list(),
		Unknown:        e.stats.unknown.list(),
	}
	e.commands.each(func(cmd *Command) {
		c := CommandStats{
			Name:     cmd.fullName,
			Calls:    cmd.stats.calls(),
			Failed:   cmd.stats.failed.Load(),
			Rejected: cmd.stats.rejected.Load(),
			Time:     time.Duration(cmd.stats.nanos.Load()),
		}
		s.Commands += c.Calls
		if c.Calls+c.Rejected > 0 {
			s.PerCommand = append(s.PerCommand, c)
		}
	})
	return s
}

// Subscribers returns how many connections have subscriptions.
func (e *Engine) Subscribers() (n int) {
	for _, c := range e.connections() {
		if c.subscribes() {
			n++
		}
	}
	return n
}

// resetStats runs CONFIG RESETSTAT.
func (e *Engine) resetStats() {
	e.stats.since.Store(time.Now().UnixNano())
	for _, counter := range []*atomic.Uint64{
		&e.stats.connections, &e.stats.input, &e.stats.output,
		&e.stats.rejected, &e.stats.protocolErrors, &e.stats.authFailures, &e.stats.cut,
	} {
		counter.Store(0)
	}
	e.stats.errors.reset()
	e.stats.unknown.reset()
	e.stats.unknownBy.reset()
	e.commands.each(func(cmd *Command) {
		for i := range cmd.stats.took {
			cmd.stats.took[i].Store(0)
		}
		cmd.stats.failed.Store(0)
		cmd.stats.rejected.Store(0)
		cmd.stats.nanos.Store(0)
	})
}

// each visits every command and subcommand.
func (t *table) each(visit func(*Command)) {
	for _, cmd := range t.list {
		visit(cmd)
		for _, sub := range cmd.Sub {
			visit(sub)
		}
	}
}

// clock returns the nanoseconds since the engine was created.
func (e *Engine) clock() int64 { return int64(time.Since(e.started)) }

// isPrintable reports whether a name has no spaces, newlines or special characters,
// which would break the lines of CLIENT LIST.
func isPrintable(name []byte) bool {
	return strings.IndexFunc(string(name), func(r rune) bool { return r < '!' || r > '~' }) < 0
}
