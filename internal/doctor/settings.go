package doctor

import (
	"fmt"
	"strconv"
)

// sets is the trouble with a server setting, and how to set it to value where
// it was set: what wins over ALTER SYSTEM has to be changed at its own place.
func (db *database) sets(name, evidence, value, note string) trouble {
	s := db.settings[name]
	tr := trouble{object: name, note: note}
	add := func(text string) {
		if tr.note != "" {
			tr.note += " "
		}
		tr.note += text
	}
	switch s.Source {
	case "command line":
		add(fmt.Sprintf("It was given on the command line of the server, which wins over ALTER SYSTEM: change \"-c %s=...\" there to %s and restart the server.", name, value))
	case "environment variable":
		add("It comes from the environment of the server: change it there and restart the server.")
	case "database":
		tr.repair = []string{fmt.Sprintf("ALTER DATABASE %s RESET %s", quote(db.name), name)}
		add("It was set for this database; new sessions see the change.")
	case "user":
		tr.repair = []string{fmt.Sprintf("ALTER ROLE %s RESET %s", quote(db.role), name)}
		add("It was set for this role; new sessions see the change.")
	case "database user":
		tr.repair = []string{fmt.Sprintf("ALTER ROLE %s IN DATABASE %s RESET %s", quote(db.role), quote(db.name), name)}
		add("It was set for this role in this database; new sessions see the change.")
	case "client", "session":
		add("It was set for this session only, by the connection string or PGOPTIONS: remove it there.")
	default:
		tr.repair = []string{fmt.Sprintf("ALTER SYSTEM SET %s = %s", name, literal(value)), "SELECT pg_reload_conf()"}
		add(fmt.Sprintf("Needs a superuser; or set %s = %s in postgresql.conf. On a managed service change the parameter in its parameter group or flags.", name, value))
		if s.Context == "postmaster" {
			tr.repair = tr.repair[:1]
			add("It takes effect when the server is restarted.")
		}
	}
	tr.evidence = fmt.Sprintf("%s = %s (%s)", name, s.shown(), s.Source)
	if evidence != "" {
		tr.evidence += "; " + evidence
	}
	return tr
}

// shown is the value as SHOW would write it, nearly.
func (s setting) shown() string {
	n, err := strconv.ParseInt(s.Setting, 10, 64)
	switch {
	case err != nil || s.Unit == "":
		return s.Setting
	case s.Unit == "8kB":
		return size(n * 8192)
	case s.Unit == "kB":
		return size(n << 10)
	case s.Unit == "MB":
		return size(n << 20)
	}
	return s.Setting + " " + s.Unit
}

func (db *database) value(name string) int64 {
	n, _ := strconv.ParseInt(db.settings[name].Setting, 10, 64)
	return n
}

// switchedTo finds a setting that has the bad value.
func switchedTo(name, bad, good, note string) func(*database) []trouble {
	return func(db *database) []trouble {
		if db.settings[name].Setting != bad {
			return nil
		}
		return []trouble{db.sets(name, "", good, note)}
	}
}

func (db *database) cacheBytes() (total int64) {
	for _, t := range db.tables {
		total += t.bytes()
	}
	return total
}

func settingsChecks() []check {
	const set = "`ALTER SYSTEM SET`, or at the place where it was set"
	return []check{
		{
			id: "autovacuum-off", severity: Error, finds: "autovacuum is off", repairs: set,
			why:   "A cache rewrites its rows all the time. Without autovacuum dead rows pile up, tables and indexes grow without end, and the database runs towards transaction id wraparound.",
			judge: switchedTo("autovacuum", "off", "on", ""),
		},
		{
			id: "track-counts-off", severity: Error, finds: "statistics of tables are not collected", repairs: set,
			why:   "Autovacuum decides by these counts which tables need it. Without them it cleans nothing until wraparound is near.",
			judge: switchedTo("track_counts", "off", "on", ""),
		},
		{
			id: "fsync-off", severity: Error, finds: "fsync is off", repairs: set,
			why:   "A crash of the machine can destroy the whole database, not only the caches. What fsync costs a cache is saved by UNLOGGED tables and synchronous_commit = off without that danger.",
			judge: switchedTo("fsync", "off", "on", ""),
		},
		{
			id: "full-page-writes-off", severity: Error, finds: "full_page_writes is off", repairs: set,
			why:   "A crash in the middle of writing a page leaves it torn, and recovery cannot mend it.",
			judge: switchedTo("full_page_writes", "off", "on", "On a file system that never tears a page, such as ZFS, off is safe: then ignore this."),
		},
		{
			id: "jit-on", severity: Info, finds: "just-in-time compilation is on", repairs: set,
			why:   "A statement of a cache runs for microseconds. When an estimate is far off, PostgreSQL compiles it first, for tens of milliseconds. Howdah switches jit off for its own connections; others may want the same.",
			judge: switchedTo("jit", "on", "off", ""),
		},
		{
			id: "autovacuum-naptime", severity: Warning, finds: "autovacuum looks at a database less often than every five minutes", repairs: set,
			why:   "A table that changes ten thousand rows a second has millions of dead ones after so long a pause.",
			judge: autovacuumNaptime,
		},
		{
			id: "autovacuum-workers-busy", severity: Warning, finds: "all autovacuum workers are busy with long jobs", repairs: set,
			why:   "Churning tables wait for a worker while large ones are vacuumed slowly, and grow meanwhile.",
			judge: autovacuumWorkersBusy,
		},
		{
			id: "shared-buffers-small", severity: Warning, finds: "the caches are more than twice as large as shared_buffers", repairs: set,
			why:   "What does not fit into shared_buffers is copied from the system's page cache, or read from disk, and pushes other tables out of memory.",
			judge: sharedBuffersSmall,
		},
		{
			id: "connections-exhausted", severity: Warning, finds: "more than 80 % of max_connections are in use", repairs: set,
			why:   "When they run out, applications are refused: a cache that answers everybody through a few connections does not help them any more.",
			judge: connectionsExhausted,
		},
		{
			id: "synchronous-commit-off", severity: Warning, finds: "synchronous_commit is off although there is a cache of class sync", repairs: set,
			why:   "A write to a cache of class sync is promised to survive a crash. With this setting SQL clients that write to it lose up to 600 ms of acknowledged writes.",
			judge: synchronousCommitOff,
		},
		{
			id: "sessions-commit-off", severity: Warning, finds: "synchronous_commit is off although there are sessions", repairs: set,
			why: "What is acknowledged may be gone after a crash, up to 600 ms of it: a user who has just logged in is not, and a session " +
				"that was revoked is valid again.",
			judge: sessionsCommitOff,
		},
	}
}

func autovacuumNaptime(db *database) []trouble {
	if db.value("autovacuum_naptime") <= 300 {
		return nil
	}
	return []trouble{db.sets("autovacuum_naptime", "the default is 60 s", "1min", "")}
}

func autovacuumWorkersBusy(db *database) []trouble {
	long := 0
	for _, w := range db.workers {
		if w.OpenFor > db.opts.LongVacuum.Seconds() {
			long++
		}
	}
	workers := db.value("autovacuum_max_workers")
	if long == 0 || int64(long) < workers {
		return nil
	}
	return []trouble{db.sets("autovacuum_max_workers",
		fmt.Sprintf("%d are at work, the longest for %s", len(db.workers), seconds(db.workers[0].OpenFor)),
		strconv.FormatInt(workers+2, 10), "Or let each work faster: raise autovacuum_vacuum_cost_limit.")}
}

func sharedBuffersSmall(db *database) []trouble {
	buffers, total := db.value("shared_buffers")*8192, db.cacheBytes()
	if total < db.opts.MinBytes || total <= 2*buffers {
		return nil
	}
	return []trouble{db.sets("shared_buffers", "the cache and session tables with their indexes are "+size(total),
		fmt.Sprintf("%dMB", total*5/4>>20+1), "Not more than a quarter to 40 % of the machine's memory: beyond that give the caches a budget (max_bytes of howdah.alter_cache).")}
}

func connectionsExhausted(db *database) []trouble {
	limit, used := db.value("max_connections")-db.value("superuser_reserved_connections"), int64(len(db.sessions))+1
	if used*10 <= limit*8 {
		return nil
	}
	return []trouble{db.sets("max_connections", fmt.Sprintf("%d of %d for ordinary roles are in use", used, limit),
		strconv.FormatInt(2*db.value("max_connections"), 10), "Better let applications share connections, through a pooler or smaller pools.")}
}

func sessionsCommitOff(db *database) []trouble {
	for _, t := range db.tables {
		if t.ours() && t.sessions && max(float64(t.Live), t.Rows) > 0 && db.settings["synchronous_commit"].Setting == "off" {
			return []trouble{db.sets("synchronous_commit", "about "+number(int64(max(float64(t.Live), t.Rows)))+" sessions are in "+t.quoted, "on",
				"Howdah's caches of class async switch it off for themselves. Other transactions that may lose their last moments can do that too.")}
		}
	}
	return nil
}

func synchronousCommitOff(db *database) []trouble {
	for _, t := range db.tables {
		if t.cache != nil && t.cache.Durability == "sync" && db.settings["synchronous_commit"].Setting == "off" {
			return []trouble{db.sets("synchronous_commit", "cache "+t.cache.Whole+" is of class sync", "on",
				"Roles or transactions that may lose their last moments can switch it off for themselves.")}
		}
	}
	return nil
}
