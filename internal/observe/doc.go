// Package observe keeps what a server saw of its own work, in memory and within
// bounds: slow calls, removals, and reads by prefix. The doors, the engine and upkeep
// write it; the console, HTTP and Redis commands read it. PostgreSQL is never asked.
//
// Each part is a type of its own. A nil pointer to it is off, costs one
// comparison, and is safe to call.
package observe
