// Package figures keeps what people look at of a database: the report of its caches, the
// doctor's report, what Howdah costs, and samples of entries. What is read once serves
// all viewers, so ten open pages cost the database what one does. Nothing is read but when
// somebody asks: after the last look the database is left alone. [Figures.Record] is the exception that asks
// the database nothing: it keeps what the process counts anyway, a point a minute, for a day.
//
// All of it takes at most two connections of the DB's pool at a time, and one where the
// pool has fewer than four. Of a database on several servers it takes as many of each pool, and
// reads all servers; what one holds that does not answer is missing, and the figures say so. Each statement is READ ONLY and bounded by a statement_timeout
// of two seconds (the doctor's: ten).
//
// Where PostgreSQL does not answer, the last good figures are served with their age and
// with the error: see [Seen].
package figures
