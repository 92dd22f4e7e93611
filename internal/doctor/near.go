package doctor

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/schema"
)

// changeLog is what is known of the log by which processes learn what to drop from
// their memory.
type changeLog struct {
	Caches   []string // that have it
	Age      float64  // seconds since it began; negative: a crash has emptied it
	Trimmed  float64  // seconds since it was trimmed; negative likewise
	Trims    int64    // since it began
	HasRows  bool
	Bytes    int64
	Reads    int64    // by polls and trims; negative: not known
	Stranded []string // transactions prepared before it began, which may have changed durable caches
}

// polls is what pg_stat_statements knows of the polls.
type polls struct {
	Calls  int64
	MeanMS float64
}

func (r *reader) changeLog() (err error) {
	if !r.db.installed || r.db.standby || r.db.schemaErr != nil {
		return nil // a standby has no unlogged tables, an older schema no log
	}
	if r.db.logs, err = rows[changeLog](r, "the change log", schema.Query("doctor_log")); err != nil {
		return err
	}
	extensions, err := rows[string1](r, "pg_stat_statements", schema.Query("doctor_statements_schema"))
	for _, extension := range extensions {
		sql := strings.ReplaceAll(schema.Query("doctor_polls"), "{schema}", extension.Text)
		if r.db.polls, err = rows[polls](r, "pg_stat_statements", sql); err != nil {
			return err
		}
	}
	return err
}

// slowPoll is the mean time of a poll in milliseconds from which on it is a finding:
// with a bound of 100 ms a process polls each 33 ms.
const slowPoll = 33

func nearChecks() []check {
	return []check{
		{
			id: "log-untrimmed", severity: Warning, finds: "the change log has rows, and was not trimmed for five minutes",
			why:     "Its rows are of no use after half a minute. Without upkeep it grows, and every poll reads more.",
			repairs: "run `howdah serve`, `howdah maintain` or pg_cron; a block that does the work once",
			judge:   eachLog(logUntrimmed),
		},
		{
			id: "log-large", severity: Warning, finds: "the change log takes 256 MiB or more",
			why:     "Polls become slower than the bound, and then every read asks PostgreSQL. Rows are removed after half a minute, but their space stays, and an old snapshot keeps the rows too.",
			repairs: "`VACUUM (TRUNCATE)`, after what holds old rows",
			judge:   eachLog(logLarge),
		},
		{
			id: "log-unread", severity: Info, finds: "caches have a change log that hardly any process has read since it began, an hour ago or earlier",
			why:     "Every write of these caches adds a row to the log, which costs processor time, and no process keeps their entries in memory.",
			repairs: "`howdah.alter_cache(name, near => false)`, or use it: `howdah serve` without `--near off`",
			judge:   eachLog(logUnread),
		},
		{
			id: "log-stranded", severity: Warning, finds: "a transaction was prepared before a crash emptied the change log, and caches with a log survive a crash",
			why:     "Its changes of entries will never be in the log. Until it ends, no entry of a cache of class async or sync is read from memory.",
			repairs: "`ROLLBACK PREPARED`, or `COMMIT PREPARED`",
			judge:   eachLog(logStranded),
		},
		{
			id: "log-slow-polls", severity: Warning, finds: "polls of the change log take 33 ms or more on average (by pg_stat_statements)",
			why:     "A process reads from memory only while polls succeed within its bound, 100 ms unless it was set. The slower they are, the more reads ask PostgreSQL.",
			repairs: "find out what keeps the server busy, or choose a larger bound (`--near`)",
			judge:   slowPolls,
		},
	}
}

// eachLog judges the change log if a cache has one.
func eachLog(judge func(*database, *changeLog) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for i := range db.logs {
			if log := &db.logs[i]; len(log.Caches) > 0 {
				if tr := judge(db, log); tr != nil {
					tr.object = "howdah_internal.change"
					found = append(found, *tr)
				}
			}
		}
		return found
	}
}

func logUntrimmed(db *database, log *changeLog) *trouble {
	if !log.HasRows || log.Trimmed < db.opts.LogSilence.Seconds() {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("last trimmed %s ago; %s", seconds(log.Trimmed), size(log.Bytes)),
		repair:   []string{maintain("")}, note: db.regularly(),
	}
}

func logLarge(db *database, log *changeLog) *trouble {
	if log.Bytes < 4*db.opts.MinBytes {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s, of %s", size(log.Bytes), count(int64(len(log.Caches)), "cache", "caches")),
		repair:   []string{"VACUUM (TRUNCATE, INDEX_CLEANUP ON) howdah_internal.change"},
		note:     "It locks the log for a moment, in which writers of these caches wait. If it stays large, look for an old transaction (see the other findings), and for statements that write single keys very often.",
	}
}

func logUnread(db *database, log *changeLog) *trouble {
	hour := db.opts.LogUnread.Seconds()
	// A trim reads the log about once, and a poll twice.
	if log.Age < hour || float64(log.Trims) < hour/2 || log.Reads < 0 || log.Reads >= 2*log.Trims {
		return nil
	}
	tr := &trouble{
		evidence: fmt.Sprintf("%s: %s; fewer than one poll in two seconds on average, since %s",
			count(int64(len(log.Caches)), "cache with a log", "caches with a log"), strings.Join(log.Caches, ", "), seconds(log.Age)),
		note: `To use it instead, start "howdah serve" with --near 100ms, or set Options.Near in the program.`,
	}
	for _, cache := range log.Caches {
		tr.repair = append(tr.repair, fmt.Sprintf("SELECT howdah.alter_cache(%s, near => false)", literal(cache)))
	}
	return tr
}

func logStranded(_ *database, log *changeLog) *trouble {
	if len(log.Stranded) == 0 {
		return nil
	}
	tr := &trouble{
		evidence: "prepared before the log began, " + seconds(log.Age) + " ago: " + strings.Join(log.Stranded, ", "),
		note:     "Ask who prepared it first: if the other half of the transaction was committed, use COMMIT PREPARED instead.",
	}
	for _, gid := range log.Stranded {
		tr.repair = append(tr.repair, "ROLLBACK PREPARED "+literal(gid))
	}
	return tr
}

func slowPolls(db *database) (found []trouble) {
	for _, p := range db.polls {
		if p.Calls > 0 && p.MeanMS >= slowPoll {
			found = append(found, trouble{
				object:   "howdah_internal.change",
				evidence: fmt.Sprintf("%s took %.0f ms on average", count(p.Calls, "poll", "polls"), p.MeanMS),
				note:     "The metrics howdah_near_poll_duration_seconds and howdah_near_lapses_total of each server show whether it is so now. pg_stat_statements counts since its last reset.",
			})
		}
	}
	return found
}
