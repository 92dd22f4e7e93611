package redisapi

import (
	"bytes"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// trackingMode is what CLIENT TRACKING and CLIENT CACHING have set.
type trackingMode struct {
	on            bool
	optIn, optOut bool
	noLoop        bool
	broadcast     bool     // its prefixes say which keys it is notified about, not what it reads
	prefixes      []string // all that it has given; not modified
	blind         bool     // its keys are not in the log: see tracking.Client.Broadcast
	redirect      int64    // the connection that gets the invalidations; 0: this one
	caching       bool     // CLIENT CACHING was given for the next command
	spent         bool     // that command has come
}

// remembers reports whether the keys that a command reads now are tracked.
func (m *trackingMode) remembers(cmd *Command) bool {
	return m.on && cmd.tracked && !(m.optIn && !m.caching) && !(m.optOut && m.caching)
}

// endCaching ends what CLIENT CACHING has set, when the command that it was given for is
// over. A transaction is one command.
func (c *Conn) endCaching() {
	if c.tracking.spent && !c.multi {
		c.set(func(s *session) { s.tracking.caching, s.tracking.spent = false, false })
	}
}

// spendCaching takes note that a command has begun. Those of CLIENT do not use up what
// CLIENT CACHING has set.
func (c *Conn) spendCaching(cmd *Command) {
	if c.tracking.caching && !c.tracking.spent && (cmd == nil || cmd.parent == nil || cmd.parent.Name != "client") {
		c.set(func(s *session) { s.tracking.spent = true })
	}
}

// isTracked reports whether a command reads keys that are tracked. Of a script nothing is
// known before it runs, and the keys that it declares are tracked.
func (cmd *Command) isTracked() bool {
	return cmd.edit != nil || cmd.has("readonly") && (len(cmd.Keys) > 0 || cmd.value != nil)
}

// tracked is what a request needs of the keys that it tracks.
type tracked struct {
	cache     *core.Cache
	broadcast bool  // the client is notified by prefix
	late      bool  // a change after the read may have come before the client was told of changes
	log       int64 // core.Cache.Logged, or LoggedKeys, before the read
	keys      [][]byte
	hashes    []int64
	added     []bool // by key: it was not registered before; of tasks
	script    int    // in EXEC the number of the script in the queue, from 1 on, that declares the keys; 0: none
	unread    bool   // the script that declares the keys has read nothing
}

func (t *tracked) reset() {
	clear(t.keys)
	t.cache, t.broadcast, t.late, t.keys, t.hashes = nil, false, false, shrink(t.keys, keepKeys), shrink(t.hashes, keepKeys)
	t.added, t.script, t.unread = nil, 0, false
}

// trackCall makes a call that is to be tracked one that also says when what it finds
// expires.
func (r *request) trackCall() {
	if r.call.Keys != nil {
		r.tracked.keys = append(r.tracked.keys, r.call.Keys...)
	} else {
		r.tracked.keys = append(r.tracked.keys, r.call.Key)
	}
	switch {
	case r.conn.tracking.broadcast: // it is notified about expired keys when they are removed
	case r.call.Verb == statement.Get:
		r.call.Verb, r.call.Recall = statement.GetEntry, true
	case r.call.Verb == statement.GetMany:
		r.call.WantExpiry = true
	}
}

// track registers keys before they are read. Those of a client that broadcasts are
// registered only if confirm will look at them, and until then.
func (c *Conn) track(t *tracked, database int, confirmed bool) {
	db, table := c.engine.options.DB, c.engine.options.DB.Tracking()
	t.cache, t.broadcast = c.engine.caches[database], c.tracking.broadcast
	t.log = t.number()
	if t.broadcast {
		for i := 0; confirmed && i < len(t.keys); i++ {
			c.tracker.Reads(t.keys[i])
		}
		return
	}
	for _, key := range t.keys {
		hash := db.Hash(key)
		added := table.Track(c.tracker, hash, key)
		t.hashes = append(t.hashes, hash)
		if confirmed {
			t.added = append(t.added, added)
		}
	}
}

// number is that of the table in the log whose changes the client is notified about.
func (t *tracked) number() int64 {
	if t.broadcast {
		return t.cache.LoggedKeys(t.keys)
	}
	return t.cache.Logged(t.keys)
}

// unfollowed reports whether the log may lack changes of what was read: the cache has
// none, or has had another table meanwhile.
func (t *tracked) unfollowed() bool { return t.log == 0 || t.number() != t.log }

// trackAnswer is called with the answer of a call whose keys are tracked. The reply has
// its place already.
func (c *Conn) trackAnswer(r *request) {
	c.noteExpiries(r.tracked.hashes, &r.call)
	c.checkFollowed(&r.tracked)
}

// noteExpiries takes note of when what a call has read expires.
func (c *Conn) noteExpiries(hashes []int64, call *verb.Call) {
	table := c.engine.options.DB.Tracking()
	for i, hash := range hashes {
		entry := &call.Result
		if call.Entries != nil {
			entry = &call.Entries[i]
		}
		if entry.Found && entry.TTL > 0 && entry.TTL != verb.NoExpiry {
			table.Expires(hash, time.Now().Add(entry.TTL))
		}
	}
}

// askExpiries asks when the keys expire that a transaction or a script has read.
func (c *Conn) askExpiries(t *tracked) {
	call := &verb.Call{Verb: statement.StatMany}
	for _, key := range t.keys {
		call.Keys = append(call.Keys, bytes.Clone(key))
	}
	hashes := slices.Clone(t.hashes)
	if len(hashes) == 0 {
		return
	}
	t.cache.Start(call, func(*verb.Call) {
		if call.Err == nil {
			c.noteExpiries(hashes, call)
			return
		}
		for _, key := range call.Keys { // nothing is known of when they expire
			c.endCopy(key)
		}
	})
}

// checkFollowed ends copies at once that nothing would end later.
func (c *Conn) checkFollowed(t *tracked) {
	if t.unfollowed() {
		for _, key := range t.keys {
			c.endCopy(key)
		}
	}
}

// endCopy tells the client that a key which it has read is not valid any more.
func (c *Conn) endCopy(key []byte) {
	c.mu.Lock()
	broadcast := c.session.tracking.broadcast // now: EXEC may have changed it
	c.mu.Unlock()
	if !broadcast {
		c.invalidate(string(key), false)
		return
	}
	for _, prefix := range c.tracker.Prefixes() {
		if bytes.HasPrefix(key, []byte(prefix)) {
			c.invalidateKeys(prefix, []string{string(key)}, false)
			return
		}
	}
}

// confirm is called when the answer has its place among the replies, if it got that after
// the keys were registered. For what has changed in between it invalidates again, behind the
// answer, except the keys in due, whose invalidations follow anyway.
func (c *Conn) confirm(t *tracked, due []string) {
	table, stale := c.engine.options.DB.Tracking(), t.late || t.unfollowed()
	for i, key := range t.keys {
		var told bool
		if t.broadcast {
			told = c.tracker.HasRead(key)
		} else {
			told = !table.Tracks(c.tracker, t.hashes[i], key)
		}
		if (stale || told) && !slices.Contains(due, string(key)) {
			c.endCopy(key)
		}
	}
}

// trackRun registers the keys of gets that memory may answer, nil if they are not tracked.
func (c *Conn) trackRun(keys [][]byte) *tracked {
	if !c.tracking.remembers(c.engine.get) {
		return nil
	}
	t := &tracked{keys: slices.Clone(keys)}
	c.track(t, c.database, true)
	return t
}

// forgetRun ends what trackRun has registered for keys that memory has not answered, those
// after the first n. A client that does not broadcast is going to read them.
func (c *Conn) forgetRun(t *tracked, n int) {
	for i := n; t.broadcast && i < len(t.keys); i++ {
		c.tracker.HasRead(t.keys[i])
	}
}

// confirmRun is confirm for what memory has answered.
func (c *Conn) confirmRun(t *tracked, entries []near.Entry) {
	table := c.engine.options.DB.Tracking()
	c.forgetRun(t, len(entries))
	t.keys = t.keys[:len(entries)]
	for i := range entries {
		if !t.broadcast && !entries[i].Expires.IsZero() {
			table.Expires(t.hashes[i], entries[i].Expires)
		}
	}
	c.confirm(t, nil)
}

// track registers the keys that a task is about to read in a database, until its reply has
// its place.
func (t *task) track(database int, keys [][]byte) *tracked {
	read := tracked{}
	for _, key := range keys {
		read.keys = append(read.keys, bytes.Clone(key))
	}
	t.conn.track(&read, database, true)
	t.tracked = append(t.tracked, read)
	return &t.tracked[len(t.tracked)-1]
}

// trackQueue registers the keys that the commands of a transaction read. Commands that
// change what is tracked may be among them: then all are registered, and the client gets
// more invalidations than it needs.
func (x *execution) trackQueue() {
	c := x.conn
	mode, changes := c.tracking, x.changesTracking()
	if !mode.on && !changes {
		return
	}
	c.makeTracker()
	c.holdInvalidations() // there may have been no client when the task began
	var reads [Databases][][]byte
	var scripts []scriptReads
	database, late := c.database, changes && x.beginsLate()
	for i, q := range x.queue {
		if number, selects := c.engine.selects(q); selects {
			database = number
		}
		switch {
		case !mode.remembers(q.cmd) && !(changes && q.cmd.tracked):
		case q.cmd.edit != nil:
			scripts = append(scripts, scriptReads{i, database, q.cmd.appendKeys(nil, q.args)})
		default:
			reads[database] = q.cmd.appendKeys(reads[database], q.args)
		}
	}
	for database, keys := range reads {
		if len(keys) > 0 {
			x.track(database, keys).late = late
		}
	}
	for _, s := range scripts { // behind the others: what these read stays registered
		read := x.track(s.database, s.keys)
		read.late, read.script = late, s.number+1
	}
}

// scriptReads are the keys that a script in the queue of a transaction declares.
type scriptReads struct {
	number, database int
	keys             [][]byte
}

// noteReads takes note of whether a script in the queue has read something.
func (x *execution) noteReads(number int, reads bool) {
	for i := range x.tracked {
		if x.tracked[i].script == number+1 {
			x.tracked[i].unread = !reads
		}
	}
}

// selects reports whether a queued command chooses a database that there is.
func (e *Engine) selects(q queuedCommand) (number int, selects bool) {
	if q.cmd.fullName != "select" {
		return 0, false
	}
	number, err := parseDatabase(q.args[1])
	return number, err == nil && e.exists[number].Load()
}

// beginsLate reports whether CLIENT TRACKING in a transaction may come after the snapshot that
// the transaction reads by: of a change in between the client is not told. Nor does it help
// that keys are registered if their values are told by prefix in the end, or the reverse.
func (x *execution) beginsLate() bool {
	e := x.conn.engine
	hasSnapshot := x.watched != nil || len(e.options.DB.Servers()) > 1 // where it first holds its partition in its place
	for _, q := range x.queue {
		switch free := q.cmd.free != nil && q.cmd.free(e, q.args); {
		case q.cmd.fullName == "client|tracking":
			if hasSnapshot || x.conn.tracking.broadcast || slices.ContainsFunc(q.args, func(arg []byte) bool { return is(arg, "BCAST") }) {
				return true
			}
		case q.cmd.now == nil && q.cmd.subscribes == nil && !q.cmd.publishes && !free:
			hasSnapshot = true
		}
	}
	return false
}

// changesTracking reports whether one of the commands of a transaction may change what is
// tracked.
func (x *execution) changesTracking() bool {
	return slices.ContainsFunc(x.queue, func(q queuedCommand) bool {
		return q.cmd.fullName == "client|tracking" || q.cmd.fullName == "client|caching"
	})
}

// resumeTracking has the table do what the session says, after a transaction was undone
// that may have changed that. What has changed meanwhile is not known.
func (x *execution) resumeTracking() {
	c := x.conn
	switch {
	case c.tracker == nil || !x.changesTracking():
	case c.tracking.on:
		c.tracker.End() // with prefixes that it has given in the transaction
		c.beginTracking(c.tracking)
		c.invalidateAll(false)
	default:
		c.tracker.End()
	}
}

// makeTracker makes the client of the connection in the table, which lasts as long as it.
func (c *Conn) makeTracker() {
	if c.tracker == nil {
		client := c.engine.options.DB.Tracking().NewClient(c.id)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tracker = client
		if c.closed {
			client.Leave()
		}
	}
}

// beginTracking lets the client track, as a mode says.
func (c *Conn) beginTracking(m trackingMode) {
	c.makeTracker()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	m.on, m.caching, m.spent = true, c.session.tracking.caching, c.session.tracking.spent
	c.session.tracking = m
	c.redirectBroken.Store(false)
	if m.broadcast {
		c.tracker.Broadcast(invalidations{c}, m.noLoop, m.blind, m.prefixes...)
	} else {
		c.tracker.Begin(invalidations{c}, m.noLoop)
	}
}

// endTracking ends the tracking, if there is any.
func (c *Conn) endTracking() {
	c.mu.Lock()
	client := c.tracker
	c.session.tracking = trackingMode{}
	c.mu.Unlock()
	c.redirectBroken.Store(false)
	if client != nil {
		client.End()
	}
}

// leaveTracking frees what the table has of the connection, when that is closed. The session
// stays as it is: a task that has not ended still reads it.
func (c *Conn) leaveTracking() {
	c.mu.Lock()
	client := c.tracker
	c.mu.Unlock()
	if client != nil {
		client.Leave()
	}
}
