// Package otelhowdah follows the calls of package howdah with OpenTelemetry: spans of
// calls, spans of the statements and loads that they share, and the duration of calls as
// a metric.
//
//	db, err := howdah.Open(ctx, url, &howdah.Options{Tracer: otelhowdah.New()})
//
// # Spans
//
// A call has a span of kind CLIENT, named by its operation and cache: "get pages". It is
// a child of the span in the context of the call. A call whose context has no span that
// is sampled has none, and costs next to nothing (WithRoots).
//
// What calls share, a statement or a load of howdah.Cache.Fetch, has a span of kind
// INTERNAL: "shared get pages", "load pages". It is a child of one of the calls, the first
// one that is sampled, so that it is sampled when one of them is. Every call has a link
// to each shared work that served it. docs/tracing.md says why.
//
// # Attributes
//
// By the semantic conventions for databases: db.system.name, db.operation.name,
// db.collection.name (the cache), db.operation.batch.size (keys, if there are several),
// db.response.status_code (SQLSTATE), error.type. Of Howdah:
//
//	howdah.hit            a read of one key has found it; a fetch without a load
//	howdah.hits           how many keys a read of several has found
//	howdah.shared.calls   calls that share the work
//	howdah.shared.keys    keys of these calls
//	howdah.shared.caches  caches, if there are several
//
// Keys, values, SQL and texts of errors are in no span and in no metric.
//
// # Metric
//
// db.client.operation.duration, in seconds, of every call that is not answered from
// memory, sampled or not, by operation, cache and error.type.
package otelhowdah
