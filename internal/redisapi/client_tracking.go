package redisapi

import (
	"errors"
	"slices"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/tracking"
)

const (
	errNotTracking = refusal("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	errNotOptIn    = refusal("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	errNotOptOut   = refusal("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	errBothOptions = refusal("ERR You can't specify both OPTIN mode and OPTOUT mode")
	errBroadcast   = refusal("ERR OPTIN and OPTOUT are not compatible with BCAST")
	errPrefix      = refusal("ERR PREFIX option requires BCAST mode to be enabled")
	errSwitchOpt   = refusal("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	errSwitchBcast = refusal("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	errTwoTargets  = refusal("ERR A client can only redirect to a single other client")
	errNoTarget    = refusal("ERR The client ID you want redirect to does not exist")
	errNoTracking  = refusal("ERR client side caching is not possible now: the change log cannot be followed; try again")
)

func trackingCommands() []*Command {
	sub := func(name string, arity int, since, syntax, summary string) *Command {
		return &Command{Name: name, Arity: arity, Flags: "noscript loading stale", ACL: "connection", Since: since,
			Syntax: syntax, Summary: summary, Complexity: "O(1)"}
	}
	track := sub("tracking", -3, "6.0.0", "ON | OFF [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
		"Tells the client when keys change that it has read")
	track.Note = "Of caches with a change log. For others it is refused, with the setting that turns the log on; a client that asks while it connects " +
		"goes on, and each key is ended as soon as it was read. BCAST needs the setting log_keys too: see docs/client-tracking.md. " +
		"A change by this server is told at once, one by another server or by SQL within `near_bound_ms` of `INFO near`, or 100 ms. " +
		"A copy of a key that the client has read in another database is ended, too."
	track.run = clientTracking
	track.free = func(_ *Engine, args [][]byte) bool { return !is(args[2], "ON") }
	info := sub("trackinginfo", 2, "6.2.0", "", "Returns what CLIENT TRACKING has set")
	info.now = clientTrackingInfo
	caching := sub("caching", 3, "6.0.0", "YES | NO", "Says whether the keys of the next command are tracked, in the modes OPTIN and OPTOUT")
	caching.now = clientCaching
	redirect := sub("getredir", 2, "6.0.0", "", "Returns the connection that gets the invalidations: 0 for this one, -1 without tracking")
	redirect.now = clientGetRedirect
	return []*Command{track, info, caching, redirect}
}

// trackingRequest is the options of CLIENT TRACKING.
type trackingRequest struct {
	trackingMode
	given []string // prefixes
}

// parseTracking parses them, in Redis's order.
func (c *Conn) parseTracking(args [][]byte) (q trackingRequest, err error) {
	for i := 0; i < len(args); i++ {
		more := i+1 < len(args)
		switch {
		case is(args[i], "REDIRECT") && more:
			i++
			if q.redirect != 0 {
				return q, errTwoTargets
			}
			if q.redirect, err = parseInt(args[i]); err != nil {
				return q, err
			}
			if c.engine.connection(q.redirect) == nil {
				return q, errNoTarget
			}
		case is(args[i], "BCAST"):
			q.broadcast = true
		case is(args[i], "OPTIN"):
			q.optIn = true
		case is(args[i], "OPTOUT"):
			q.optOut = true
		case is(args[i], "NOLOOP"):
			q.noLoop = true
		case is(args[i], "PREFIX") && more:
			i++
			q.given = append(q.given, string(args[i]))
		default:
			return q, errSyntax
		}
	}
	return q, nil
}

// check reports what is wrong with the options, as Redis does. client is nil if the
// connection has never tracked.
func (q *trackingRequest) check(now trackingMode, client *tracking.Client) error {
	switch {
	case len(q.given) > 0 && !q.broadcast:
		return errPrefix
	case now.on && q.broadcast != now.broadcast:
		return errSwitchBcast
	case q.broadcast && (q.optIn || q.optOut):
		return errBroadcast
	case q.optIn && q.optOut:
		return errBothOptions
	case q.optIn && now.optOut, q.optOut && now.optIn:
		return errSwitchOpt
	}
	return q.checkPrefixes(client)
}

// checkPrefixes refuses prefixes that overlap: a key would be told twice.
func (q *trackingRequest) checkPrefixes(client *tracking.Client) error {
	const must = " Prefixes for a single client must not overlap."
	for i, prefix := range q.given {
		if client != nil {
			if other, overlaps := client.Overlap(prefix); overlaps {
				return refusal("ERR Prefix '" + prefix + "' overlaps with an existing prefix '" + other + "'." + must)
			}
		}
		for _, other := range q.given[i+1:] {
			if tracking.Overlap(prefix, other) {
				return refusal("ERR Prefix '" + prefix + "' overlaps with another provided prefix '" + other + "'." + must)
			}
		}
	}
	return nil
}

func clientTracking(t *task, args [][]byte) error {
	c := t.conn
	options, err := c.parseTracking(args[3:])
	switch {
	case err != nil:
		return err
	case is(args[2], "OFF"):
		c.endTracking()
	case !is(args[2], "ON"):
		return errSyntax
	default:
		if err := options.check(c.tracking, c.tracker); err != nil {
			return err
		}
		if options.blind, err = t.followLog(options.broadcast); err != nil {
			if !c.worked { // redis-py would go on and keep copies of which it is told nothing
				c.hangUp()
			}
			return err
		}
		if options.broadcast {
			if len(options.given) == 0 {
				options.given = []string{""}
			}
			options.prefixes = slices.Concat(c.tracking.prefixes, options.given)
		}
		c.beginTracking(options.trackingMode)
	}
	t.out = append(t.out, resp.OK...)
	return nil
}

// followLog sees to it that the changes of the database that is chosen are followed. A
// client that asks while it sets up its connection may take an error for the end of that,
// and try for ever, or for nothing. Without a log it goes on: what it reads is ended at once.
// One that broadcasts is blind then: other connections may read for it.
func (t *task) followLog(broadcast bool) (blind bool, err error) {
	c := t.conn
	cache := c.engine.caches[c.database]
	var refused refusal
	if broadcast {
		refused, err = needsKeys(cache.Name()), cache.TrackPrefixes(t.ctx)
	} else {
		refused, err = needsLog(cache.Name()), cache.Track(t.ctx)
	}
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, core.ErrNotFollowed):
		return false, errNoTracking
	case !errors.Is(err, core.ErrNoLog) && !errors.Is(err, core.ErrNoKeys):
		return false, err
	case c.worked:
		return false, refused
	}
	c.engine.log("a client that connects asks for client-side caching, and goes on without", "client", c.info.RemoteAddr, "reason", string(refused))
	return broadcast, nil
}

func needsLog(cache string) refusal {
	return refusal("ERR client side caching needs the change log of cache " + cache +
		", which is off; turn it on with SELECT howdah.alter_cache('" + cache + "', near => true)")
}

// needsKeys says how the keys get into the log: by SQL, HTTP and the library for Go.
func needsKeys(cache string) refusal {
	return refusal("ERR CLIENT TRACKING with BCAST needs the keys in the change log of cache " + cache +
		", which are off; turn them on with SELECT howdah.alter_cache('" + cache + "', near => true, log_keys => true)" +
		", with PATCH /v1/caches/" + cache + ` {"near":true,"log_keys":true}, or with DB.AlterCache (CacheConfig.LogKeys); ` +
		"or leave BCAST out, and the keys that this client reads are tracked")
}

func clientCaching(c *Conn, args [][]byte, reply []byte) []byte {
	refuse := func(err refusal) []byte { return resp.AppendError(reply, string(err)) }
	switch {
	case !c.tracking.on:
		return refuse(errNotTracking)
	case is(args[2], "YES"):
		if !c.tracking.optIn {
			return refuse(errNotOptIn)
		}
	case is(args[2], "NO"):
		if !c.tracking.optOut {
			return refuse(errNotOptOut)
		}
	default:
		return refuse(errSyntax)
	}
	c.set(func(s *session) { s.tracking.caching, s.tracking.spent = true, false })
	return append(reply, resp.OK...)
}

func clientGetRedirect(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendInt(reply, c.tracking.target())
}

// target is what CLIENT GETREDIR and CLIENT LIST show.
func (m *trackingMode) target() int64 {
	if !m.on {
		return -1
	}
	return m.redirect
}

// flags are those of CLIENT TRACKINGINFO.
func (m *trackingMode) flags(broken bool) []string {
	if !m.on {
		return []string{"off"}
	}
	flags := []string{"on"}
	add := func(set bool, flag string) {
		if set {
			flags = append(flags, flag)
		}
	}
	add(m.broadcast, "bcast")
	add(m.optIn, "optin")
	add(m.optIn && m.caching, "caching-yes")
	add(m.optOut, "optout")
	add(m.optOut && m.caching, "caching-no")
	add(m.noLoop, "noloop")
	add(broken, "broken_redirect")
	return flags
}

func clientTrackingInfo(c *Conn, _ [][]byte, reply []byte) []byte {
	flags := c.tracking.flags(c.redirectBroken.Load())
	reply = resp.AppendMap(reply, c.proto, 3)
	reply = resp.AppendBulkString(reply, "flags")
	reply = resp.AppendSet(reply, c.proto, len(flags))
	for _, flag := range flags {
		reply = resp.AppendBulkString(reply, flag)
	}
	reply = resp.AppendBulkString(reply, "redirect")
	reply = resp.AppendInt(reply, c.tracking.target())
	reply = resp.AppendBulkString(reply, "prefixes")
	var prefixes []string
	if c.tracking.broadcast {
		prefixes = c.tracker.Prefixes()
	}
	return appendKeys(reply, prefixes)
}
