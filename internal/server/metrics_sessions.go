package server

import (
	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of sessions. No user, id or token is in them.
var (
	sessionsLiveDesc    = describe("sessions", "Sessions in the table, by PostgreSQL's estimate of a minute ago.")
	sessionsCreatedDesc = describe("sessions_created_total", "Sessions started.")
	sessionsRotatedDesc = describe("sessions_rotated_total", "Secrets renewed.")
	sessionsRevokedDesc = describe("sessions_revoked_total", "Sessions ended by a request, not by time.")

	sessionReadsDesc   = describe("session_reads_total", "Reads of a session by its token: found, or refused because the token is malformed, its id unknown, its secret wrong or its session expired, or in_doubt because the session miss rate was exceeded.", "result")
	sessionServersDesc = describe("session_reads_primary_total", "Reads of a session that the primary answered.")

	usesDesc      = describe("session_uses_total", "Uses of sessions: covered by their row, written, or skipped by the batch because another process had written them.", "outcome")
	flushesDesc   = describe("session_flushes_total", "Batches of uses that were written.")
	flushTimeDesc = describe("session_flush_seconds_total", "Time that writing batches of uses took.")
	usesWaitDesc  = describe("session_uses_waiting", "Uses of sessions that wait in memory for the next batch.")
	standbyDesc   = describe("session_standby_reads_total", "Reads asked of a standby: served, or asked of the primary because the session was missing there, the standby stale, its recovery in the way, or no answer came.", "standby", "result")
	standbyUsable = describe("session_standby_usable", "1 if the standby is read from now.", "standby")
	standbyBehind = describe("session_standby_heartbeat_age_seconds", "Age of the latest heartbeat that the standby showed.", "standby")
)

func (c *collector) collectSessions(out metricSink) {
	if c.sessions == nil {
		return
	}
	count := func(desc *prometheus.Desc, value int64, labels ...string) { out.count(desc, float64(value), labels...) }
	s := c.sessions.Stats()
	if s.Live >= 0 {
		out.gauge(sessionsLiveDesc, float64(s.Live))
	}
	count(sessionsCreatedDesc, s.Created)
	count(sessionsRotatedDesc, s.Rotated)
	count(sessionsRevokedDesc, s.Revoked)
	for result, n := range map[string]int64{
		"found": s.Found, "malformed": s.Malformed, "unknown": s.Unknown, "wrong_secret": s.WrongSecret,
		"expired": s.TimedOut, "in_doubt": s.Doubted,
	} {
		count(sessionReadsDesc, n, result)
	}
	count(sessionServersDesc, s.PrimaryReads)
	count(usesDesc, s.Covered, "covered")
	count(usesDesc, s.Touched, "written")
	count(usesDesc, s.Skipped, "skipped")
	count(flushesDesc, s.Flushes)
	out.count(flushTimeDesc, s.FlushTime.Seconds())
	out.gauge(usesWaitDesc, float64(s.Waiting))
	for _, standby := range s.Standbys {
		for result, n := range map[string]int64{
			"served": standby.Served, "missed": standby.Missed, "stale": standby.Stale,
			"conflict": standby.Conflicts, "failed": standby.Failed,
		} {
			count(standbyDesc, n, standby.Name, result)
		}
		out.gauge(standbyUsable, flag(standby.Usable), standby.Name)
		if standby.Behind >= 0 {
			out.gauge(standbyBehind, standby.Behind.Seconds(), standby.Name)
		}
	}
}
