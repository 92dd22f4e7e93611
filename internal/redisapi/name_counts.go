package redisapi

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// nameCounts count by a name that a client may have chosen: beyond limit names
// they count "other". It is safe for concurrent use.
type nameCounts struct {
	limit int

	mu     sync.Mutex
	counts map[string]uint64 // 0 after a reset
}

const otherName = "other"

// add counts a name and returns under which name it was counted, and whether
// for the first time.
func (n *nameCounts) add(name string) (counted string, first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts == nil {
		n.counts = make(map[string]uint64)
	}
	if _, known := n.counts[name]; !known && len(n.counts) >= n.limit {
		name = otherName
	}
	_, known := n.counts[name]
	n.counts[name]++
	return name, !known
}

// list returns what was counted, by name.
func (n *nameCounts) list() []NameCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []NameCount
	for name, count := range n.counts {
		if count > 0 {
			list = append(list, NameCount{name, count})
		}
	}
	slices.SortFunc(list, func(a, b NameCount) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// reset sets the counts to zero. The names stay known.
func (n *nameCounts) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range n.counts {
		n.counts[name] = 0
	}
}

// NameCount is how often something of a name was counted.
type NameCount struct {
	Name  string
	Count uint64
}

// Bounds of the names that are counted.
const (
	maxUnknownNames  = 256
	maxUnknownPairs  = 1024 // of a name and a library
	maxErrorPrefixes = 64
	maxUnknownLength = 64 // bytes
)

// count counts a command that was run, and its reply.
func (c *counters) count(cmd *Command, nanos int64, reply []byte) {
	failed := isError(reply)
	if failed {
		c.countError(reply)
	}
	cmd.stats.add(nanos, failed)
}

// countError counts an error reply by its name.
func (c *counters) countError(reply []byte) { c.errors.add(errorName(reply)) }

// errorName is the first word of an error reply, such as ERR or READONLY. Scripts may choose
// others: as in Redis one without a text behind it is ERR, and what would break a line of
// INFO is replaced.
func errorName(reply []byte) string {
	word, _, ok := strings.Cut(string(reply[1:min(len(reply), 32)]), " ")
	if !ok || word == "" || !isPrintable([]byte(word)) {
		return "ERR"
	}
	return strings.NewReplacer("#", "_", ":", "_").Replace(word)
}

// probes are what client libraries ask for when they connect, to go on without where a server has it
// not, as Redis 7.0 has not: redis-py 8.1 sends CLIENT MAINT_NOTIFICATIONS.
var probes = setOf("client|maint_notifications")

// countUnknown counts a command, or a subcommand of cmd, that there is not, and
// logs each name once. Clients that owe the password choose no names. Probes are not counted:
// nothing fails that somebody should look into.
func (c *Conn) countUnknown(cmd *Command, args [][]byte) {
	name := otherName
	if c.authenticated {
		name = unknownName(cmd, args)
	}
	if probes[name] {
		return
	}
	name, first := c.engine.stats.unknown.add(name)
	c.engine.stats.unknownBy.add(name + librarySeparator + c.client.Library)
	if first {
		c.engine.options.Logger.Warn("a client sent a command that Howdah lacks", "command", name, "client", c.info.RemoteAddr)
	}
}

// unknownName is the name in lower case, "client|nosuch" for a subcommand, if
// it looks like that of a command.
func unknownName(cmd *Command, args [][]byte) string {
	name, prefix := args[0], ""
	if cmd != nil {
		name, prefix = args[1], cmd.fullName+"|"
	}
	if len(name) == 0 || len(name) > maxUnknownLength {
		return otherName
	}
	text := strings.ToLower(string(name))
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return otherName
	}
	return prefix + text
}
