package redisapi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/observe"
)

// Clients returns the connections, in the order in which they came.
func (e *Engine) Clients() []observe.Connection {
	connections := e.connections()
	clients := make([]observe.Connection, len(connections))
	for i, c := range connections {
		clients[i] = c.observed()
	}
	return clients
}

// observed is the connection as it is shown outside of Redis' protocol.
func (c *Conn) observed() observe.Connection {
	now := c.engine.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observe.Connection{
		ID: c.id, Client: *c.client, Database: c.session.database,
		Age: time.Duration(now - c.since), Idle: time.Duration(max(0, now-c.lastSeen.Load())),
		Waits: c.isBlocked(), Listens: c.subs != nil && c.subs.total > 0, Tracks: c.session.tracking.on,
	}
	if cmd := c.lastCmd.Load(); cmd != nil {
		o.Command = cmd.fullName
	}
	return o
}

// Kill closes the connection of a number, and reports whether there was one.
func (e *Engine) Kill(id int64) bool {
	c := e.connection(id)
	if c != nil {
		c.kill()
	}
	return c != nil
}

// librarySeparator separates a command from the client library that sent it. Neither contains it.
const librarySeparator = " "

// UnknownCommands returns the commands that clients sent and Howdah lacks, the most often
// first, since the start or the last CONFIG RESETSTAT.
func (e *Engine) UnknownCommands() []observe.UnknownCommand {
	libraries := make(map[string][]observe.LibraryCount)
	for _, count := range e.stats.unknownBy.list() {
		name, library, _ := strings.Cut(count.Name, librarySeparator)
		libraries[name] = append(libraries[name], observe.LibraryCount{Library: library, Count: count.Count})
	}
	commands := []observe.UnknownCommand{}
	for _, count := range e.stats.unknown.list() {
		by := libraries[count.Name]
		slices.SortStableFunc(by, func(a, b observe.LibraryCount) int { return cmp.Compare(b.Count, a.Count) })
		commands = append(commands, observe.UnknownCommand{Name: count.Name, Count: count.Count, Libraries: by})
	}
	slices.SortStableFunc(commands, func(a, b observe.UnknownCommand) int { return cmp.Compare(b.Count, a.Count) })
	return commands
}

// Libraries returns how many connections there are of each client library that is known,
// all of which are there, and of other and unnamed ones, as "other".
func (e *Engine) Libraries() map[string]int {
	counts := map[string]int{otherName: 0}
	for _, name := range knownLibraries {
		counts[name] = 0
	}
	for _, c := range e.connections() {
		c.mu.Lock()
		library := c.library
		c.mu.Unlock()
		counts[knownLibrary(library)]++
	}
	return counts
}

// knownLibraries are the names that client libraries give of themselves by CLIENT SETINFO,
// in lower case, sorted.
var knownLibraries = []string{
	"glide", "go-redis", "ioredis", "iovalkey", "jedis", "lettuce", "node-redis", "nredisstack",
	"predis", "redis-py", "redis-rs", "redisson", "rueidis", "se.redis", "valkey-go", "valkey-py",
}

// knownLibrary is the name of a library without what it adds in parentheses, as in
// "redis-py(django-redis_v5)", or "other".
func knownLibrary(library string) string {
	name, _, _ := strings.Cut(strings.ToLower(library), "(")
	if strings.HasPrefix(name, "glide") { // GlidePy, GlideJS, ...
		name = "glide"
	}
	if _, known := slices.BinarySearch(knownLibraries, name); known {
		return name
	}
	return otherName
}
