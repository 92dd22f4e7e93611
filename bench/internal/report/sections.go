package report

import (
	"math"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

// section is a part of the page: what was asked, its figures, its tables, and the
// ratios of its experiment that have a goal.
type section struct {
	title, text string
	experiment  string
	figures     []figure
	tables      []table
}

// table is numbers of one group of the section's experiment: a row for each case, a
// column for each contestant.
type table struct {
	group   string
	metrics []string // in the cells, in this order; the head names them
}

// flow is what tables of messages and wake-ups say.
var flow = []string{"throughput", "p50", "p99"}

// figure is a chart of one metric of the section's experiment.
type figure struct {
	file   string // without ".svg"
	title  string
	axis   chart.Axis
	across string   // what the cases are; "": bars instead of lines
	series []string // in this order
	metric string
	cases  []place
}

// place is where a value of a figure stands in the result.
type place struct{ label, group, which string }

// along are the cases of one group.
func along(group string, cases ...string) []place {
	var out []place
	for _, which := range cases {
		out = append(out, place{which, group, which})
	}
	return out
}

var (
	requests     = chart.Axis{Label: "requests per second", Better: chart.More}
	milliseconds = chart.Axis{Label: "99th percentile, milliseconds", Better: chart.Less}
	clients      = []string{"Howdah", "go-redis", "rueidis", "gomemcache", "pgx, one statement a call"}
	callers      = []string{"1", "16", "64", "256", "1024"}
	cacheCounts  = []string{"1", "10", "100", "500"}
)

// sections are in the order of the page: what matters to most readers first.
var sections = []section{
	{
		title: "Callers of one process", experiment: "library",
		text: "Goroutines of one Go process read or write keys, each as soon as it has its last answer. Howdah and rueidis let" +
			" callers that wait at the same time share a statement or a round trip; the others send each call by itself.",
		figures: []figure{
			{"library-get-throughput", "GET by callers of one process", requests, "callers", clients, "throughput", along("GET", callers...)},
			{"library-set-throughput", "SET by callers of one process", requests, "callers", clients, "throughput", along("SET", callers...)},
		},
	},
	{
		title: "Many caches at once", experiment: "many-caches",
		text: "256 callers of one process, spread evenly over more and more caches, each of which is a table.",
		figures: []figure{
			{"many-caches-get", "GET by 256 callers, over several caches", requests, "caches", manyCachesSeries, "throughput", along("GET", cacheCounts...)},
			{"many-caches-set", "SET by 256 callers, over several caches", requests, "caches", manyCachesSeries, "throughput", along("SET", cacheCounts...)},
		},
	},
	{
		title: "Several processes", experiment: "processes",
		text: "8 processes of 16 callers, as web servers that fork have them: only callers of one process can share.",
		figures: []figure{{"processes", "8 processes of 16 callers", requests, "", clients, "throughput",
			[]place{{"GET", "GET", "8 processes of 16"}, {"SET", "SET", "8 processes of 16"}}}},
	},
	{
		title: "Redis clients", experiment: "redis-benchmark",
		text: "`redis-benchmark` with 50 connections asks `howdah serve` and `redis-server`, with and without pipelines of 16.",
		figures: []figure{{"redis-benchmark", "redis-benchmark, 50 connections", requests, "", []string{"howdah serve", "redis-server"}, "throughput",
			[]place{{"GET", "GET", "plain"}, {"SET", "SET", "plain"}, {"GET, pipelines of 16", "GET", "-P 16"}, {"SET, pipelines of 16", "SET", "-P 16"}}}},
	},
	{
		title: "Redis clients, hot entries in memory", experiment: "near-serve",
		text: "The same with `howdah serve --near`, which answers GETs of hot keys from its memory, at most 100 ms old; and reads and writes of popular keys (Zipf 1.1).",
		figures: []figure{{"near-serve", "Redis clients, 50 connections, hot entries in memory", requests, "", []string{"howdah serve --near", "howdah serve", "redis-server"}, "throughput",
			[]place{{"GET", "GET", "plain"}, {"GET, pipelines of 16", "GET", "-P 16"}, {"95 % GET", "95 % GET, Zipf 1.1", "plain"}, {"80 % GET", "80 % GET, Zipf 1.1", "plain"}}}},
	},
	{
		title: "Hits in memory", experiment: "near",
		text: "Goroutines read keys that the library, or rueidis by its client-side cache, holds in memory; and 64 callers of whom PostgreSQL sees the rest.",
		figures: []figure{{"near-hits", "GET, hits in memory", requests, "callers", []string{"Howdah, Get", "Howdah, GetAppend", "rueidis, DoCache"}, "throughput",
			along("GET, hits in memory", "1", "16", "64")}},
	},
	{
		title: "Hashes, lists and sets", experiment: "collections",
		text: "`redis-benchmark` uses 10,000 collections of ten elements; goroutines of one process store fields of hashes.",
	},
	{
		title: "Scripts", experiment: "scripts",
		text: "EVALSHA of a script that compares a lock's token and extends its life, and of a limiter on a sorted set.",
	},
	{
		title: "Messages", experiment: "pubsub",
		text: "PUBLISH of 100 bytes to subscribers of the same server, and of another one. Each checks that every message comes once, in order.",
		tables: []table{
			{"PUBLISH to a subscriber", flow}, {"PUBLISH to 50 subscribers", flow},
			{"PUBLISH to a subscriber of another server, as many as can be", flow}, {"PUBLISH to a subscriber of another server", flow},
		},
	},
	{
		title: "Wake-ups", experiment: "wakeups",
		text: "Clients wait with BLPOP, others push; and 10,000 clients wait for nothing.",
		tables: []table{
			{"RPUSH to a client that waits on the same server", flow}, {"RPUSH to a client that waits on another server", flow},
			{"Clients that wait for nothing", []string{"server CPU", "database CPU", "server memory"}},
		},
	},
	{
		title: "Notifications and the application", experiment: "notify",
		text:   "16 clients commit beside messages between servers.",
		tables: []table{{"Transactions of the application", flow}, {"Messages beside them", flow}},
	},
	{
		title: "Partitions on one server", experiment: "partitions",
		text: "A cache in 16 partitions beside one in none, in two databases of one server.",
	},
	{
		title: "Two servers of Citus", experiment: "scale-out",
		text: "Two servers on a core each, clients included, beside one server on one core. A loop that only computes says what the second core gives.",
	},
	{
		title: "What observing costs", experiment: "observing",
		text: "CPU of `howdah serve` that notes slow calls, removals and prefixes, beside one that does not.",
	},
	{
		title: "HTTP", experiment: "http-cache",
		text: "50 connections read and write session documents, through `howdah serve` or through a small Go server in front of Redis or a plain table.",
		figures: []figure{{"http-cache", "An HTTP server that caches, 50 connections", requests, "",
			[]string{"howdah serve", "Go server over go-redis", "Go server over pgx, UNLOGGED"}, "throughput",
			[]place{{"GET, 80 % hits", "GET, 80 % hits", "50 connections"}, {"SET", "SET, 10 % of existing keys", "50 connections"}}}},
	},
	{
		title: "Large values", experiment: "value-sizes",
		text: "64 callers of one process. PostgreSQL keeps values above about 2 kB outside of the row, in pieces: large values favour Redis.",
		figures: []figure{{"value-sizes-get", "GET by 64 callers, by size of the value", requests, "size of the value", clients, "throughput",
			along("GET", "64 B", "1 KiB", "8 KiB", "64 KiB")}},
	},
	{
		title: "The same promise on both sides", experiment: "durability-parity",
		text: "64 callers write. Howdah's durability class and Redis's log promise the same: nothing, all but the last moments, or everything.",
		figures: []figure{{"durability-parity", "SET by 64 callers, by what a crash may take", requests, "", []string{"Howdah", "go-redis", "rueidis"}, "throughput",
			[]place{
				{"everything may be lost", "SET, 64 goroutines", "nothing kept: unlogged, no log"},
				{"the last moments may be lost", "SET, 64 goroutines", "the last moments may be lost: async, everysec"},
				{"nothing may be lost", "SET, 64 goroutines", "nothing may be lost: sync, always"},
			}}},
	},
	{
		title: "The application next to the cache", experiment: "neighbours",
		text: "pgbench's transactions in the same database, at half of the rate that they reach alone, beside 5,000 cache requests a second.",
		figures: []figure{{"neighbours", "pgbench's transactions beside a cache", milliseconds, "", []string{"no cache", "Howdah", "one statement a call"}, "p99",
			[]place{{"", "pgbench at half of its rate", "4 clients"}}}},
	},
}

var manyCachesSeries = []string{"Howdah", "pgx, one statement a call"}

// draw makes the picture from the medians of a result.
func (f figure) draw(r *result.Result) (string, error) {
	c := chart.Chart{Title: f.title, Axis: f.axis, Across: f.across}
	for _, p := range f.cases {
		c.Cases = append(c.Cases, p.label)
	}
	for _, name := range f.series {
		colour, err := chart.ColourOf(name)
		if err != nil {
			return "", err
		}
		s := chart.Series{Name: name, Colour: colour}
		measured := false
		for _, p := range f.cases {
			m, ok := r.Find(p.group, p.which, name, f.metric)
			measured = measured || ok
			if !ok {
				s.Values = append(s.Values, math.NaN())
				continue
			}
			s.Values = append(s.Values, m.Median())
		}
		if measured { // a rival whose program was missing is not
			c.Series = append(c.Series, s)
		}
	}
	if f.across == "" {
		return c.Bars(), nil
	}
	return c.Lines(), nil
}
