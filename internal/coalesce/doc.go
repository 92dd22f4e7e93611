// Package coalesce lets many concurrent callers share one set-based
// statement. It knows no SQL and no protocol.
package coalesce
