package console

import (
	"cmp"
	"net/http"
	"time"

	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/stat"
)

// costView is the page of what Howdah takes of the database.
type costView struct {
	Fresh   freshness
	Cost    *figures.Cost
	Columns []costColumn
}

// costColumn are the shares of one time.
type costColumn struct {
	Title  string
	Shares *stat.Shares
	Span   string
}

func (c *Console) cost(r *request) error {
	seen := c.figures.Cost(r.Context())
	view := &costView{Fresh: freshnessOf(seen), Cost: seen.Value}
	if cost := seen.Value; cost != nil {
		for _, column := range []costColumn{{Title: "Last hour", Shares: cost.Hour}, {Title: "Since the statistics were reset", Shares: cost.Total}} {
			if column.Shares != nil {
				column.Span = duration(column.Shares.Until.Sub(column.Shares.From))
				view.Columns = append(view.Columns, column)
			}
		}
	}
	return r.show(http.StatusOK, "cost.html", frame{Title: "Cost", Section: "cost", Waiting: view.Fresh.Waiting, Page: view})
}

// nearView is the page of the entries in memory.
type nearView struct {
	Off     bool
	Bound   string
	MaxAge  string
	Hit     *float64
	Hits    int64
	Misses  int64
	Lapsed  int64
	Lapses  int64
	Entries int64
	Bytes   int64
	Max     int64
	Used    *float64
	Polls   int64
	Failed  int64
	Ages    []bucketRow
	Drops   []bucketRow

	Logged   []string // caches with a change log, whose entries may be kept in memory
	Unlogged []string // the others
	Known    bool     // which caches there are

	Fresh     freshness // of the processes
	Processes []processRow
}

// Idle says that memory is on, and no cache lets anything be kept in it.
func (v *nearView) Idle() bool { return !v.Off && v.Known && len(v.Logged) == 0 }

// Repair are caches for which the page has the statement that gives them a change log.
func (v *nearView) Repair() []string { return v.Unlogged[:min(len(v.Unlogged), repairsShown)] }

// repairsShown bounds the statements on the page of memory.
const repairsShown = 3

// dropReasons say in words why entries in memory were dropped.
var dropReasons = map[string]string{
	"first":       "this server began to follow the change log",
	"server":      "PostgreSQL was restarted",
	"incarnation": "the change log was made anew",
	"unlit":       "the change log was not there any more",
	"floor":       "changes were removed from the log before this server had read them",
	"overflow":    "there were more changes than one poll reads",
	"stranded":    "a prepared transaction is older than the change log",
	"flush":       "a cache was emptied",
}

// changeLogs are the caches with and without a change log. known is false while the database
// does not say.
func (r *request) changeLogs() (with, without []string, known bool) {
	ctx, cancel := r.bounded()
	defer cancel()
	configs, err := r.console.db.Caches(ctx)
	for i := range configs {
		if configs[i].Near {
			with = append(with, configs[i].Name)
		} else {
			without = append(without, configs[i].Name)
		}
	}
	return with, without, err == nil
}

func (c *Console) nearPage(r *request) error {
	n := c.db.Stats().Near
	seen := c.figures.Servers(r.Context())
	view := &nearView{
		Fresh: freshnessOf(seen), Processes: processRows(seen.Value),
		Off: c.db.Near() == nil, Bound: duration(n.Bound), MaxAge: duration(n.MaxAge), Hits: int64(n.Hits), Misses: int64(n.Misses),
		Lapsed: int64(n.Lapsed), Lapses: int64(n.Lapses), Entries: int64(n.Entries), Bytes: n.Bytes, Max: n.MaxBytes,
		Polls: int64(n.Polls), Failed: int64(n.FailedPolls),
	}
	view.Hit, view.Used = shareOf(view.Hits, view.Hits+view.Misses), shareOf(view.Bytes, view.Max)
	all := int64(0)
	for _, count := range n.Ages {
		all += int64(count)
	}
	for i, count := range n.Ages {
		bound := n.Bound * time.Duration(i+1) / time.Duration(len(n.Ages))
		view.Ages = append(view.Ages, bucketRow{Label: "up to " + duration(bound), Entries: int64(count), Share: shareOf(int64(count), all)})
	}
	for _, drop := range n.DropsByReason() {
		view.Drops = append(view.Drops, bucketRow{Label: cmp.Or(dropReasons[drop.Reason], drop.Reason), Entries: int64(drop.Count)})
	}
	view.Logged, view.Unlogged, view.Known = r.changeLogs()
	return r.show(http.StatusOK, "near.html", frame{Title: "Memory", Section: "near", Live: true, Page: view})
}

// serversView is the page of the processes that use the database, and of its servers.
type serversView struct {
	Fresh   freshness
	Servers *stat.Servers
	Leader  string

	Processes []processRow
	NoLog     bool // no cache has a change log, so nobody reads from memory

	Databases []stat.ServerState // where the database is on several
	Partial   freshness          // of these
}

func (c *Console) serversPage(r *request) error {
	seen := c.figures.Servers(r.Context())
	view := &serversView{Fresh: freshnessOf(seen), Servers: seen.Value, Processes: processRows(seen.Value)}
	report := c.figures.Report(r.Context())
	if report.Value != nil {
		view.Leader, view.Databases = report.Value.Upkeep.Leader, report.Value.Servers
	}
	logged, _, known := r.changeLogs()
	view.NoLog = known && len(logged) == 0
	view.Partial = freshness{Partial: freshnessOf(report).Partial}
	return r.show(http.StatusOK, "servers.html", frame{Title: "Servers", Section: "servers", Live: true, Waiting: view.Fresh.Waiting, Page: view})
}

// mechanismsView is the page of the watches, or that of the scripts.
type mechanismsView struct {
	Fresh freshness
	Seen  *stat.Mechanisms
	Home  string // the coordinator's address, where the database is on several servers
}

func (c *Console) mechanisms(r *request) mechanismsView {
	seen := c.figures.Mechanisms(r.Context())
	view := mechanismsView{Fresh: freshnessOf(seen), Seen: seen.Value}
	if servers := c.db.Servers(); servers != nil {
		view.Home = servers[0].Address
	}
	return view
}

func (c *Console) watchesPage(r *request) error {
	view := c.mechanisms(r)
	return r.show(http.StatusOK, "watches.html", frame{Title: "Watches and tags", Section: "watches", Waiting: view.Fresh.Waiting, Page: view})
}

func (c *Console) scriptsPage(r *request) error {
	view := c.mechanisms(r)
	return r.show(http.StatusOK, "scripts.html", frame{Title: "Scripts", Section: "scripts", Waiting: view.Fresh.Waiting, Page: view})
}
