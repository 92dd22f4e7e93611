package redisapi

import (
	"bytes"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

const noteConfigSet = "Every setting of Redis is known. " +
	"maxmemory and maxmemory-policy change the cache of the connection's database, if the role of the server may: " +
	"they are kept in PostgreSQL, for all servers, and refused inside MULTI. " +
	"notify-keyspace-events is kept in the database too ([events.md](events.md)). " +
	"timeout and tcp-keepalive (of connections that come later) hold until the server ends, " +
	"as do those of the slow log, of tracking and of the output of subscribers; latency-tracking no hides INFO latencystats. " +
	"Others that would change something are flags of howdah serve: only their present value is accepted. " +
	"The rest is remembered until the server ends, and changes nothing."

func configCommands() []*Command {
	const flags = "admin noscript loading stale"
	return []*Command{{
		Name: "config", Arity: -2, Group: "server", Since: "2.0.0", Summary: "Returns settings", Complexity: "Depends on the subcommand",
		Sub: []*Command{
			{Name: "get", Arity: -3, Flags: flags, Since: "2.0.0", Syntax: "parameter [parameter ...]",
				Summary: "Returns the settings whose names match", Complexity: "O(N) where N is the number of settings",
				Note: "maxmemory is max_bytes of the cache of the connection's database, and maxmemory-policy its eviction; " +
					"max_entries has no name in Redis.",
				run: configGet, free: getsNoBudget},
			{Name: "set", Arity: -4, Flags: flags, Since: "2.0.0", Syntax: "parameter value [parameter value ...]",
				Tips:    "request_policy:all_nodes response_policy:all_succeeded",
				Summary: "Changes settings, all or none of them", Complexity: "O(N) where N is the number of settings",
				Note: noteConfigSet, run: configSet, free: setsNothingShared},
			{Name: "resetstat", Arity: 2, Flags: flags, Since: "2.0.0", Summary: "Sets the counters of INFO to zero", Complexity: "O(1)",
				Tips: "", now: configResetStat},
			{Name: "rewrite", Arity: 2, Flags: flags, Since: "2.8.0", Summary: "Refused: there is no configuration file", Complexity: "O(1)",
				now: fail("ERR The server is running without a config file")},
			help("5.0.0", "", "CONFIG",
				"GET <pattern>", "    Return the settings whose names match.",
				"SET <directive> <value>", "    Change a setting, or remember one that changes nothing here.",
				"RESETSTAT", "    Set the counters of INFO to zero.",
				"REWRITE", "    Refused."),
		},
	}}
}

// localPort is the port that the client has connected to, as INFO and CONFIG GET
// show it.
func (c *Conn) localPort() string {
	_, port, err := net.SplitHostPort(c.info.LocalAddr)
	if err != nil {
		return "0"
	}
	return port
}

// foundSetting is a setting as CONFIG GET shows it.
type foundSetting struct {
	name string
	*setting
}

// matching finds the settings of a CONFIG GET, each once. A setting that is asked for by its whole name is
// shown under that, as in Redis.
func (all *settings) matching(args [][]byte) (found []foundSetting) {
	shown := make(map[string]bool)
	show := func(name string, s *setting) {
		if key := strings.ToLower(name); s != nil && !shown[key] {
			shown[key] = true
			found = append(found, foundSetting{name, s})
		}
	}
	for _, arg := range args {
		pattern := bytes.ToLower(arg)
		if !bytes.ContainsAny(pattern, "*?[") {
			show(string(arg), all.byName[string(pattern)])
			continue
		}
		for _, s := range all.list {
			for _, name := range []string{s.name, s.alias} {
				if name != "" && values.Match(pattern, []byte(name)) {
					show(name, s)
				}
			}
		}
	}
	return found
}

// longPatterns reports whether the patterns of a CONFIG GET are longer than they may be.
func longPatterns(args [][]byte) bool {
	size := 0
	for _, pattern := range args {
		size += len(pattern) + 1
	}
	return size > maxNamePatterns
}

// getsNoBudget reports whether a CONFIG GET can be answered without asking PostgreSQL.
func getsNoBudget(e *Engine, args [][]byte) bool {
	return longPatterns(args[2:]) || !slices.ContainsFunc(e.settings.matching(args[2:]), func(f foundSetting) bool { return f.ofCache })
}

func configGet(t *task, args [][]byte) error {
	if longPatterns(args[2:]) {
		return errLongNamePatterns
	}
	found := t.conn.engine.settings.matching(args[2:])
	if slices.ContainsFunc(found, func(f foundSetting) bool { return f.ofCache }) {
		if err := t.readBudgets(); err != nil {
			if slices.ContainsFunc(args[2:], isBudget) {
				return err
			}
			found = slices.DeleteFunc(found, func(f foundSetting) bool { return f.ofCache }) // a pattern: the others are known
		}
	}
	t.out = resp.AppendMap(t.out, t.conn.proto, len(found))
	for _, f := range found {
		t.out = resp.AppendBulkString(t.out, f.name)
		t.out = resp.AppendBulkString(t.out, t.conn.value(f.setting))
	}
	return nil
}

// configSet checks names before values, and changes all or nothing, as Redis
// does.
func configSet(t *task, args [][]byte) error {
	if len(args)%2 != 0 {
		return errSyntax
	}
	changes, err := t.conn.engine.settings.named(args[2:])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(changes, func(change settingChange) bool { return change.ofCache }) {
		if err := t.readBudgets(); err != nil {
			return err
		}
	}
	if err := t.conn.checkSettings(changes); err != nil {
		return err
	}
	if err := t.changeBudget(changes); err != nil {
		return err
	}
	for _, change := range changes {
		if change.kind == eventSetting {
			if err := t.setEvents(change.value); err != nil {
				return err
			}
		}
	}
	all := t.conn.engine.settings
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, change := range changes {
		if !change.refused && !change.ofCache && change.kind != eventSetting {
			all.changed[change.setting] = change.value
			t.conn.engine.apply(change)
		}
	}
	t.out = append(t.out, resp.OK...)
	return nil
}

// setsNothingShared reports whether a CONFIG SET changes nothing in the database.
func setsNothingShared(_ *Engine, args [][]byte) bool {
	for i := 2; i < len(args); i += 2 {
		if is(args[i], "NOTIFY-KEYSPACE-EVENTS") || isBudget(args[i]) {
			return false
		}
	}
	return true
}

// apply lets a setting have its effect, if it has one.
func (e *Engine) apply(change settingChange) {
	switch change.setting.name {
	case "tracking-table-max-keys":
		if n, err := parseInt([]byte(change.value)); err == nil {
			e.options.DB.Tracking().SetMaxKeys(n)
		}
	case "timeout":
		if n, err := parseInt([]byte(change.value)); err == nil {
			e.idleTimeout.Store(n * int64(time.Second))
		}
	case "tcp-keepalive":
		if n, err := parseInt([]byte(change.value)); err == nil {
			e.keepAlive.Store(n * int64(time.Second))
		}
	case "slowlog-log-slower-than":
		if n, err := parseInt([]byte(change.value)); err == nil {
			e.slowLog().SetThreshold(microseconds(n))
		}
	case "slowlog-max-len":
		if n, err := parseInt([]byte(change.value)); err == nil {
			e.slowLog().SetMax(int(min(n, observe.MaxSlowCalls)))
		}
	case outputLimitSetting:
		e.outputLimit.Store(parseOutputLimits(change.value).pubsub())
	}
}

// settingChange is one setting of a CONFIG SET.
type settingChange struct {
	*setting
	name, value string
}

// named finds the settings of a CONFIG SET. The first name that cannot be set
// is the error, whatever the values are.
func (s *settings) named(args [][]byte) (changes []settingChange, err error) {
	seen := make(map[string]bool)
	for i := 0; i < len(args); i += 2 {
		name := strings.ToLower(string(args[i]))
		found := s.byName[name]
		switch {
		case found == nil:
			return nil, refusal("ERR Unknown option or number of arguments for CONFIG SET - '" + string(cString(args[i], 128)) + "'")
		case found.kind == immutableSetting:
			return nil, cannotSet(string(args[i]), "can't set immutable config")
		case found.kind == protectedSetting:
			return nil, cannotSet(string(args[i]), "can't set protected config")
		case seen[name]:
			return nil, cannotSet(string(args[i]), "duplicate parameter")
		}
		seen[name] = true
		changes = append(changes, settingChange{found, name, string(args[i+1])})
	}
	return changes, nil
}

func cannotSet(name, reason string) refusal {
	return refusal("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + reason)
}

// checkSettings checks the values, and brings them into the form of CONFIG GET.
func (c *Conn) checkSettings(changes []settingChange) error {
	for i := range changes {
		change := &changes[i]
		value, reason := change.parse(change.value)
		if change.setting.name == outputLimitSetting {
			var limits outputLimits
			limits, reason = parseOutputLimits(c.value(change.setting)).merge(change.value)
			value = limits.String()
		}
		if reason != "" {
			return cannotSet(change.name, string(reason))
		}
		tooLong := change.kind == textSetting && len(value) > maxText
		if tooLong || change.refused && !strings.EqualFold(value, c.value(change.setting)) {
			return cannotSet(change.name, "can't set it here; use the flags of howdah serve, or howdah.alter_cache in PostgreSQL")
		}
		change.value = value
	}
	return nil
}

func configResetStat(c *Conn, _ [][]byte, reply []byte) []byte {
	c.engine.resetStats()
	return append(reply, resp.OK...)
}
