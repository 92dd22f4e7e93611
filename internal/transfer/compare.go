package transfer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// Use is a command that was called since the start of a server.
type Use struct {
	Command string  `json:"command"`
	Calls   int64   `json:"calls"`
	Share   float64 `json:"share"` // of all calls, 0 to 1
	Note    string  `json:"note,omitempty"`
}

// Setting is something about a server that matters for a move.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Note    string `json:"note"`
	Lacking bool   `json:"lacking"` // Howdah has nothing like it
}

// Comparison is what Compare found.
type Comparison struct {
	Server  string    `json:"server"` // its version
	Uptime  int64     `json:"uptime_seconds"`
	Calls   int64     `json:"calls"`
	Missing []Use     `json:"missing"` // by calls, as the others
	Differs []Use     `json:"differs"` // Note says how
	Admin   []Use     `json:"admin"`   // missing too, but no application needs them
	Same    []Use     `json:"same"`
	Notes   []Setting `json:"settings"`
	Suggest []string  `json:"suggestions"` // statements and flags
	Unfit   Unfit     `json:"unfit"`       // keys that Howdah cannot hold
}

// Lacks reports whether Howdah lacks something that is in use.
func (c *Comparison) Lacks() bool {
	return len(c.Missing) > 0 || c.Unfit.Keys > 0 || slices.ContainsFunc(c.Notes, func(s Setting) bool { return s.Lacking })
}

// CompareOptions say what Compare compares with.
type CompareOptions struct {
	Served        map[string]string // the commands that Howdah has, with what is different
	Keys          int               // at most so many keys are looked at
	MaxValueBytes int               // the longest string that Howdah takes
}

// Compare asks a Redis server which commands were called, how it is set up, and which of its keys Howdah
// cannot hold. Errors: ErrSource, or what the server says.
func Compare(ctx context.Context, a Address, o CompareOptions) (*Comparison, error) {
	conn, err := Dial(ctx, a)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stats, err := conn.Do("INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	server, err := conn.Describe()
	if err != nil {
		return nil, err
	}
	c := &Comparison{Server: server.Version}
	c.Uptime, _ = strconv.ParseInt(server.info["uptime_in_seconds"], 10, 64)
	admin, err := c.commands(conn, parseInfo(string(stats.Str)), o.Served, server.info["redis_version"])
	if err != nil {
		return nil, err
	}
	c.Missing = slices.DeleteFunc(c.Missing, func(u Use) bool {
		if admin[u.Command] {
			c.Admin = append(c.Admin, u)
		}
		return admin[u.Command]
	})
	settings, err := readSettings(conn, server)
	if err != nil {
		return nil, err
	}
	settings.judge(c)
	c.Unfit = findUnfit(ctx, conn, server, o.Keys, o.MaxValueBytes)
	return c, nil
}

// commands sorts the commands that were called. It returns which of the missing ones are for
// administration.
func (c *Comparison) commands(conn *Conn, stats, served map[string]string, version string) (admin map[string]bool, err error) {
	var all []Use
	for name, text := range stats {
		command, isCommand := strings.CutPrefix(name, "cmdstat_")
		calls, _ := strconv.ParseInt(between(text, "calls=", ","), 10, 64)
		if isCommand && calls > 0 {
			all = append(all, Use{Command: command, Calls: calls})
			c.Calls += calls
		}
	}
	slices.SortFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Command, b.Command))
	})
	infos := new(batch)
	for _, u := range all {
		u.Share = float64(u.Calls) / float64(c.Calls)
		note, has := served[u.Command]
		note = ofItsTime(note, version)
		switch {
		case !has:
			c.Missing = append(c.Missing, u)
			infos.add("COMMAND", "INFO", u.Command)
		case note != "":
			u.Note = note
			c.Differs = append(c.Differs, u)
		default:
			c.Same = append(c.Same, u)
		}
	}
	replies, err := conn.exchange(infos)
	if err != nil {
		return nil, err
	}
	admin = map[string]bool{}
	for i, reply := range replies {
		admin[c.Missing[i].Command] = isAdmin(reply)
	}
	return admin, nil
}

// isAdmin reports whether COMMAND INFO gives a command the flag of administration.
func isAdmin(reply resp.Reply) bool {
	if len(reply.Elems) != 1 || len(reply.Elems[0].Elems) < 3 {
		return false
	}
	return slices.ContainsFunc(reply.Elems[0].Elems[2].Elems, func(flag resp.Reply) bool { return string(flag.Str) == "admin" })
}

// between returns what stands between two texts, up to the end if the second is not there.
func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	value, _, _ := strings.Cut(rest, after)
	return value
}

// settings are what was read of the configuration of a server.
type settings struct {
	server  Server
	config  map[string]string // without what the server does not tell
	users   int
	modules []string
}

func readSettings(conn *Conn, server Server) (*settings, error) {
	s := &settings{server: server, config: map[string]string{}}
	names := []string{"maxmemory", "maxmemory-policy", "notify-keyspace-events", "appendonly", "appendfsync", "save", "requirepass", "tls-port"}
	ask := new(batch)
	for _, name := range names {
		ask.add("CONFIG", "GET", name)
	}
	replies, err := conn.exchange(ask.add("ACL", "USERS").add("MODULE", "LIST"))
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if elems := replies[i].Elems; replies[i].Kind != resp.Error && len(elems) == 2 {
			s.config[name] = string(elems[1].Str)
		}
	}
	for name, field := range map[string]string{"maxmemory": "maxmemory", "maxmemory-policy": "maxmemory_policy"} {
		if value, ok := server.info[field]; ok && s.config[name] == "" { // hosted servers refuse CONFIG
			s.config[name] = value
		}
	}
	if s.config["appendonly"] == "" && server.info["aof_enabled"] == "1" {
		s.config["appendonly"] = "yes"
	}
	if users := replies[len(names)]; users.Kind == resp.Array {
		s.users = len(users.Elems)
	}
	for _, module := range replies[len(names)+1].Elems {
		for i := 0; i+1 < len(module.Elems); i += 2 {
			if string(module.Elems[i].Str) == "name" {
				s.modules = append(s.modules, string(module.Elems[i+1].Str))
			}
		}
	}
	return s, nil
}

// durability is the class that loses no more than the server does.
func (s *settings) durability() (class, why string) {
	switch {
	case s.config["appendonly"] == "yes" && s.config["appendfsync"] == "always":
		return "sync", "no write is lost"
	case s.config["appendonly"] == "yes":
		return "async", "a crash loses the last second"
	case s.config["save"] != "":
		return "async", "snapshots: a crash loses what was written since the last one; class unlogged is cheaper, and a crash empties it"
	case s.config["appendonly"] == "":
		return "unlogged", "the server does not tell whether it has persistence"
	}
	return "unlogged", "no persistence: a crash loses everything"
}

// fsync is how often the log of appends goes to disk, if there is one.
func (s *settings) fsync() string {
	if s.config["appendonly"] != "yes" {
		return ""
	}
	return s.config["appendfsync"]
}

// judge notes what matters, and what to do about it.
func (s *settings) judge(c *Comparison) {
	note := func(lacking bool, name, value, format string, args ...any) {
		c.Notes = append(c.Notes, Setting{name, value, fmt.Sprintf(format, args...), lacking})
	}
	if s.server.Cluster {
		note(false, "cluster", "enabled", "with --redis-cluster every howdah serve is a cluster of one node: docs/cluster.md")
	}
	if len(s.modules) > 0 {
		note(true, "modules", strings.Join(s.modules, ", "), "Howdah has no modules: import refuses keys of their types")
	}
	if s.users > 1 {
		note(true, "ACL users", strconv.Itoa(s.users), "Howdah has one password for all Redis clients; what a server may do is decided by its PostgreSQL role")
	}
	class, why := s.durability()
	note(false, "persistence", strings.TrimSpace("appendonly "+cmp.Or(s.config["appendonly"], "unknown")+" "+s.fsync()), "class %s: %s", class, why)
	if events := s.config["notify-keyspace-events"]; events != "" {
		note(false, "notify-keyspace-events", events, "Howdah has them: docs/events.md")
		c.Suggest = append(c.Suggest, "redis-cli CONFIG SET notify-keyspace-events "+events+"    # on any howdah serve, for all")
	}
	s.caches(c, class, note)
	flags := ""
	if s.server.Cluster {
		flags += " --redis-cluster"
	}
	if s.config["requirepass"] != "" {
		flags += " --password-file FILE"
	}
	if port := s.config["tls-port"]; port != "" && port != "0" {
		flags += " --tls-cert FILE --tls-key FILE"
	}
	c.Suggest = append(c.Suggest, "howdah serve --database-url postgres://..."+flags)
}

// caches suggests the settings of the caches that take the databases.
func (s *settings) caches(c *Comparison, class string, note func(bool, string, string, string, ...any)) {
	databases, total := []int{}, int64(0)
	for number, keys := range s.server.Keys {
		databases, total = append(databases, number), total+keys
	}
	slices.Sort(databases)
	memory, _ := strconv.ParseInt(s.config["maxmemory"], 10, 64)
	policy := cmp.Or(s.config["maxmemory-policy"], "noeviction")
	if memory > 0 {
		note(false, "maxmemory", s.config["maxmemory"], "in Howdah a budget for each cache, which counts key + value + 100 bytes of each entry")
		note(false, "maxmemory-policy", policy, "Howdah has it under this name")
	} else {
		note(false, "maxmemory", "0", "no limit; a cache of Howdah has none either until you set max_bytes")
	}
	for _, number := range databases {
		keys := s.server.Keys[number]
		note(number > 15, "db"+strconv.Itoa(number), fmt.Sprintf("%d keys", keys), "%s", databaseNote(number))
		if number > 15 {
			continue
		}
		verb := "create"
		if number == 0 {
			verb = "alter" // it is always there
		}
		command := fmt.Sprintf("howdah caches %s db%d --durability %s", verb, number, class)
		if memory > 0 {
			share := int64(float64(memory) * (float64(keys) / float64(max(total, 1))))
			command += fmt.Sprintf(" --max-bytes %d --eviction %s", max(share, 1<<20), policy)
		}
		c.Suggest = append(c.Suggest, command)
	}
}

func databaseNote(number int) string {
	if number > 15 {
		return "Redis clients of Howdah select databases 0 to 15"
	}
	return "goes into the cache db" + strconv.Itoa(number)
}
