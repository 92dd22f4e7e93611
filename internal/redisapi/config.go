package redisapi

import (
	"bytes"
	"net"
	"strings"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

func configCommands() []*Command {
	const flags = "admin noscript loading stale"
	return []*Command{{
		Name: "config", Arity: -2, Group: "server", Since: "2.0.0", Summary: "Returns settings", Complexity: "Depends on the subcommand",
		Sub: []*Command{
			{Name: "get", Arity: -3, Flags: flags, Since: "2.0.0", Syntax: "parameter [parameter ...]",
				Summary: "Returns the settings whose names match", Complexity: "O(N) where N is the number of settings", now: configGet},
			{Name: "set", Arity: -4, Flags: flags, Since: "2.0.0", Syntax: "parameter value [parameter value ...]",
				Tips:    "request_policy:all_nodes response_policy:all_succeeded",
				Summary: "Changes a setting, or remembers one that changes nothing here", Complexity: "O(N) where N is the number of settings",
				Note: "Every setting of Redis is known. Those that would change something are flags of howdah serve and settings of each cache: only their present value is accepted. notify-keyspace-events is kept in the database, for all servers ([events.md](events.md)). The others are remembered until the server ends.", run: configSet, free: setsNoEvents},
			{Name: "resetstat", Arity: 2, Flags: flags, Since: "2.0.0", Summary: "Sets the counters of INFO to zero", Complexity: "O(1)",
				Tips: "", now: configResetStat},
			{Name: "rewrite", Arity: 2, Flags: flags, Since: "2.8.0", Summary: "Refused: there is no configuration file", Complexity: "O(1)",
				now: fail("ERR The server is running without a config file")},
			help("5.0.0", "", "CONFIG",
				"GET <pattern>", "    Return the settings whose names match.",
				"SET <directive> <value>", "    Remember a setting that changes nothing here, refuse another.",
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

func configGet(c *Conn, args [][]byte, reply []byte) []byte {
	size := 0
	for _, pattern := range args[2:] {
		size += len(pattern) + 1
	}
	if size > maxNamePatterns {
		return resp.AppendError(reply, string(errLongNamePatterns))
	}
	type found struct{ name, value string }
	var all []found
	shown := make(map[string]bool)
	show := func(name string, s *setting) {
		if key := strings.ToLower(name); s != nil && !shown[key] {
			shown[key] = true
			all = append(all, found{name, c.value(s)})
		}
	}
	for _, arg := range args[2:] {
		pattern := bytes.ToLower(arg)
		if !bytes.ContainsAny(pattern, "*?[") {
			show(string(arg), c.engine.settings.byName[string(pattern)]) // as it was asked, as in Redis
			continue
		}
		for _, s := range c.engine.settings.list {
			for _, name := range []string{s.name, s.alias} {
				if name != "" && values.Match(pattern, []byte(name)) {
					show(name, s)
				}
			}
		}
	}
	reply = resp.AppendMap(reply, c.proto, len(all))
	for _, f := range all {
		reply = resp.AppendBulkString(reply, f.name)
		reply = resp.AppendBulkString(reply, f.value)
	}
	return reply
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
	if err := t.conn.checkSettings(changes); err != nil {
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
		if !change.refused && change.kind != eventSetting {
			all.changed[change.setting] = change.value
			t.conn.engine.apply(change)
		}
	}
	t.out = append(t.out, resp.OK...)
	return nil
}

// setsNoEvents reports whether a CONFIG SET changes nothing in the database.
func setsNoEvents(_ *Engine, args [][]byte) bool {
	for i := 2; i < len(args); i += 2 {
		if is(args[i], "NOTIFY-KEYSPACE-EVENTS") {
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
