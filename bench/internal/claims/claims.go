// Package claims is what others have published about PostgreSQL as a cache,
// claim by claim, and writes what was measured beside each.
package claims

// Article is a public text with its claims; the last one is ours.
type Article struct {
	Title  string
	About  string // in one sentence
	Claims []Claim
}

// Claim is a sentence that an experiment judges. Its text is that of the
// verdict: the two are found by it.
type Claim struct {
	Experiment string
	Text       string
	Figure     string // of the article
}

// All are the articles in the order of the page.
func All() []Article {
	return []Article{
		{"Storing sessions or cache data in postgresql", "It is possible, but only experts get it right.", []Claim{
			{"insert-latency", "An UNLOGGED table takes an eighth of the time of a LOGGED one", "0.03 ms against 0.24 ms"},
			{"insert-latency", "synchronous_commit=off for one transaction gets most of it back, more so in a function", "0.097 ms, in a function 0.037 ms"},
			{"identity-cache", "With CACHE 100 nearly all locking on the sequence goes", "no figure"},
			{"identity-cache", "The id should be an integer from a sequence", "no figure"},
			{"column-types", "TEXT for the payload, not JSON, JSONB or BYTEA", "no figure"},
			{"column-types", "TIMESTAMP, not TIMESTAMPTZ, not an epoch in BIGINT; no varchar(n), no constraints", "no figure"},
			{"expiry-index", "Put no index on expires_at", "no figure"},
			{"reap-chunks", "Delete expired rows in chunks of 1,000 to 5,000", "no figure"},
			{"keepalive", "Remember used sessions, in memory or in a TEMP table, extend them in one UPDATE every so often, and skip those extended lately", "SQL, no figure"},
			{"fillfactor", "A fillfactor of 70 (50 at the extreme) makes updates heap-only", "30 % more space"},
			{"autovacuum", "Set autovacuum for the table: threshold 2000, scale factor 0.01, cost delay 2 ms", "SQL, no figure"},
			{"network", "The network drowns the difference between PostgreSQL and Redis", "arithmetic: 0.1 ms in a rack, 5 ms between sites, 10 to 200 ms far away"},
			{"sessions", "A cache database is the better session store", "conclusion, no figure"},
			{"sessions", "Sliding the expiry is what a session store in PostgreSQL pays for", "SQL, no figure"},
		}},
		{"Can Postgres replace Redis as a cache?", "Expiry, eviction and a benchmark.", []Claim{
			{"redis-benchmark", "Redis as a cache answers 56 times as many requests as PostgreSQL", "892,857/s (pipelined) against 15,946/s"},
			{"pgbench-write", "A write to an UNLOGGED table takes a third of the time", "2.059 ms, 485 TPS against 5.949 ms, 168 TPS"},
			{"pgbench-write", "The key is UNIQUE and has an index of its own besides, which costs nothing", "SQL, no figure"},
			{"pgbench-read", "Reads of an UNLOGGED table are no faster than of a LOGGED one", "0.679 ms, 14,724 TPS against 0.627 ms, 15,946 TPS"},
			{"pgbench-read", "ORDER BY last_read_timestamp ASC evicts what was read least recently", "SQL, no figure"},
			{"ram-tablespace", "A tablespace in RAM gains nothing", "0.652 ms, 15,329 TPS"},
			{"neighbours", "The load of a cache lands on the primary", "a warning, no figure"},
			{"spill", "A cache larger than shared_buffers slows down", "a warning, no figure"},
			{"durability-parity", "Redis is far ahead of PostgreSQL in writes", "a Redis that keeps nothing"},
		}},
		{"Reducing writes with unlogged tables", "What is not written to the log.", []Claim{
			{"bulk-load", "UNLOGGED saves a fifth of the time and nearly all of the log", "5 M rows: 16 s against 20 s, 2 files against 35"},
		}},
		{"Redis is fast - I'll cache in Postgres", "An HTTP server in front of both.", []Claim{
			{"http-cache", "Redis is ahead of PostgreSQL in every run", "PostgreSQL 7,425 requests/s, Redis more in all three"},
			{"http-cache", "UNLOGGED is far ahead of LOGGED in writes and equal in reads", "a chart, no figure"},
			{"http-cache", "In front of Redis the HTTP server is the bottleneck, not Redis", "1,280 of 2,000 mCPU for the HTTP server"},
			{"http-cache", "PostgreSQL needs more memory than Redis for the same entries", "5 to 6 GiB against 3.8 to 4.3 GiB"},
		}},
		{"PostgreSQL vs Redis vs Memcached", "N records, written and read.", []Claim{
			{"kv-scale", "PostgreSQL takes about twice as long as Redis to write, and ten times as long as Memcached", "1 M records: 31,230 ms, 14,638 ms, 2,813 ms"},
			{"kv-scale", "PostgreSQL reads one record hundreds of times faster than Redis or Memcached", "0.026 to 0.029 ms against 6 to 30 ms"},
			{"kv-scale", "The time of a PostgreSQL read does not grow with the table", "0.026 ms at 1,000, 0.029 ms at 1,000,000"},
			{"index-kind", "A hash index, or one that covers the value, would be faster", "open idea"},
			{"pgpool", "pgpool-II's query cache would make PostgreSQL a faster cache", "open idea"},
		}},
		{"What Howdah promises", "Our own sentences, measured the same way.", []Claim{
			{"locked-row", "A row that an open transaction holds delays only those who write that row", ""},
			{"many-caches", "Callers of hundreds of caches share as well", ""},
			{"stalled-readers", "Clients that read no reply cost a bounded amount of memory, and hardly delay others", ""},
			{"few-connections", "Fewer connections than asked for are used, not failed on", ""},
			{"noeviction-budget", "A cache with policy noeviction keeps its budget, however many servers write", ""},
			{"index-kind", "A short hash of the key makes a better index than the key", ""},
			{"mass-expiry", "A million entries that expire at once are gone within a minute, and readers hardly notice", ""},
			{"mass-expiry", "No round of upkeep keeps a row locked for longer than writers wait (20 ms)", ""},
			{"neighbours", "Reads use no transaction ids, and writes that come together share one", ""},
			{"network", "What then decides is how many requests are under way", ""},
			{"near", "A hit in memory is faster than one of a client-side cache of Redis, and allocates nothing", ""},
			{"near", "With most reads answered from memory PostgreSQL has a fraction of the work left, polls included", ""},
			{"near-serve", "With hot entries in memory howdah serve answers GETs about as fast as redis-server", ""},
			{"near-serve", "With hot entries in memory howdah serve keeps up with redis-server where most commands are reads of popular keys", ""},
			{"near-log", "The change log of a cache costs a lone write a quarter more of PostgreSQL's CPU at most, and writes that share a statement a tenth", ""},
			{"near-storm", "When memory may not answer, its readers do not flood PostgreSQL, and none waits beyond its timeout", ""},
			{"near-storm", "Entries in memory keep their budget", ""},
			{"watch", "Writers of a watched table do not wait for each other, even if all their rows map to one key", ""},
			{"watch", "A watch leaves writers four fifths of their throughput", ""},
			{"collections", "A field of a small hash is stored at two thirds of the rate of a plain SET", ""},
			{"collections", "Small hashes in memory are read about as fast as from redis-server", ""},
			{"scripts", "Scripts of locks and limiters reach a third of the rate of redis-server", ""},
		}},
	}
}
