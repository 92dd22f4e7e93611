package redisapi

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
)

// maxScriptAge is how long ago a server has asked, at most, whether another one has
// changed functions or flushed scripts, when it runs one from its memory. After half of
// that it asks beside the commands, so that those of a busy server do not wait.
const maxScriptAge = 2 * time.Second

// sharedScripts is what an engine has learnt of the scripts and functions that all
// servers share.
type sharedScripts struct {
	turn      chan struct{} // held by the one who asks
	asked     atomic.Int64  // engine clock when the question began that was last answered; 0: none was
	asking    atomic.Bool   // beside the commands
	scripts   string        // the state that the scripts in memory belong to. Under turn
	functions atomic.Pointer[functions]
}

// scriptsAreRecent reports whether the scripts and functions in memory may be used
// without a question.
func (e *Engine) scriptsAreRecent() bool {
	asked := e.shared.asked.Load()
	age := time.Duration(e.clock() - asked)
	if asked == 0 || age >= maxScriptAge {
		return false
	}
	if age >= maxScriptAge/2 && e.shared.asking.CompareAndSwap(false, true) {
		if !e.begin() {
			return true
		}
		go func() {
			defer e.tasks.Done()
			defer e.shared.asking.Store(false)
			// Its failure shows when the age is reached.
			_ = e.learnScripts(e.ctx, asked+1)
		}()
	}
	return true
}

// learnScripts asks PostgreSQL what has changed, unless a question that began at since
// or later, by the clock of the engine, was answered already.
func (e *Engine) learnScripts(ctx context.Context, since int64) error {
	shared := &e.shared
	pass, err := shared.take(ctx, e.slotWait)
	if err != nil {
		return err
	}
	defer pass()
	if asked := shared.asked.Load(); asked != 0 && asked >= since {
		return nil
	}
	begin := max(e.clock(), 1)
	stored := e.options.DB.Scripts(nil)
	state, err := stored.State(ctx)
	if err != nil {
		return err
	}
	e.belong(state.Scripts)
	if state.Functions != shared.functions.Load().state {
		all, current, err := stored.Libraries(ctx)
		if err != nil {
			return err
		}
		shared.functions.Store(e.loadFunctions(ctx, all, current))
	}
	shared.asked.Store(begin)
	return nil
}

// take waits for the turn, as long as a task waits for its slot. Error: ErrOverloaded.
func (s *sharedScripts) take(ctx context.Context, wait time.Duration) (pass func(), err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, fault.ErrOverloaded
}

// belong forgets the scripts in memory if they belong to another state: one server has
// flushed all. The caller holds the turn.
func (e *Engine) belong(state string) {
	if e.shared.scripts != "" && e.shared.scripts != state {
		e.scripts.flush()
	}
	e.shared.scripts = state
}

// learnScripts asks as Engine.learnScripts does, unless the task is a transaction: EXEC
// has asked before it began. The task has its slot.
func (t *task) learnScripts(since int64) error {
	if t.tx != nil {
		return nil
	}
	return t.conn.engine.learnScripts(t.ctx, since)
}

// enter takes a slot, unless the task is a transaction, which has one.
func (t *task) enter() (release func(), err error) {
	if t.tx != nil {
		return func() {}, nil
	}
	return t.takeSlot()
}

// storedScripts are those of the database, in the transaction if there is one.
func (t *task) storedScripts() core.Scripts {
	if t.tx != nil {
		return t.tx.scripts
	}
	return t.conn.engine.options.DB.Scripts(nil)
}

// recentScripts is the time, by the clock of the engine, since which PostgreSQL must
// have been asked.
func (e *Engine) recentScripts() int64 { return max(1, e.clock()-int64(maxScriptAge)+1) }

// findScript sets the script of a call by its SHA-1, or the source if it is not compiled
// yet. Errors: errNoScript, or that of PostgreSQL.
func (t *task) findScript(call *scriptCall, sha []byte) error {
	e := t.conn.engine
	release, err := t.enter()
	if err != nil {
		return err
	}
	defer release()
	if err := t.learnScripts(e.recentScripts()); err != nil {
		return err
	}
	if script := e.scripts.find(sha); script != nil {
		call.script = script
		return nil
	}
	sum := decodeSHA(sha)
	if sum == nil {
		return errNoScript
	}
	call.flushes = e.scripts.flushed()
	source, err := t.storedScripts().Find(t.ctx, sum)
	switch {
	case err != nil:
		return err
	case source == nil:
		return errNoScript
	case sha1.Sum(source) != [sha1.Size]byte(sum):
		e.log("a row of howdah_internal.script has the SHA-1 of another script; it is not used", "sha1", hex.EncodeToString(sum))
		return errNoScript
	}
	call.source, call.stored = source, true
	return nil
}

// decodeSHA returns the bytes of a SHA-1 in hexadecimal digits, nil if it is none.
func decodeSHA(sha []byte) []byte {
	sum := make([]byte, hex.DecodedLen(len(sha)))
	if _, err := hex.Decode(sum, sha); err != nil || len(sum) != sha1.Size {
		return nil
	}
	return sum
}

// learnQueued asks before a transaction begins what its queue needs to know: inside it,
// a question would need a second connection.
func (x *execution) learnQueued(ctx context.Context) error {
	e, since := x.conn.engine, int64(0)
	for _, q := range x.queue {
		switch q.cmd.fullName {
		case "evalsha", "evalsha_ro", "script|exists", "function|list", "function|stats", "function|dump":
			since = max(since, e.recentScripts())
		case "fcall", "fcall_ro":
			since = max(since, e.recentScripts())
			if e.shared.functions.Load().find(q.args[1]) == nil {
				since = max(1, e.clock())
			}
		}
	}
	if since == 0 {
		return nil
	}
	return e.learnScripts(ctx, since)
}

func scriptLoad(t *task, args [][]byte) error {
	script, err := t.conn.engine.scripts.compile(args[2])
	if err != nil {
		return refusal(err.Error())
	}
	sum := sha1.Sum(args[2])
	if err := t.storedScripts().Save(t.ctx, sum[:], args[2]); err != nil && (t.tx != nil || sqlState(err) != readOnly) {
		return err
	}
	t.out = resp.AppendBulkString(t.out, script.program.SHA())
	return nil
}

// readOnly is the SQLSTATE of a standby that is to write. A script is then known to this
// server alone, as to a replica of Redis.
const readOnly = "25006"

func scriptExists(t *task, args [][]byte) error {
	e := t.conn.engine
	if err := t.learnScripts(e.recentScripts()); err != nil {
		return err
	}
	var unknown [][]byte
	for _, sha := range args[2:] {
		if sum := decodeSHA(sha); sum != nil && e.scripts.find(sha) == nil {
			unknown = append(unknown, sum)
		}
	}
	stored := map[string]bool{}
	if len(unknown) > 0 {
		var err error
		if stored, err = t.storedScripts().Exist(t.ctx, unknown); err != nil {
			return err
		}
	}
	t.out = resp.AppendArray(t.out, len(args)-2)
	for _, sha := range args[2:] {
		found := int64(0)
		if e.scripts.find(sha) != nil || stored[string(decodeSHA(sha))] {
			found = 1
		}
		t.out = resp.AppendInt(t.out, found)
	}
	return nil
}

func scriptFlush(t *task, args [][]byte) error {
	if len(args) > 3 || len(args) == 3 && !is(args[2], "SYNC") && !is(args[2], "ASYNC") {
		return refusal("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	e := t.conn.engine
	if t.tx != nil {
		if _, err := t.tx.scripts.Flush(t.ctx); err != nil {
			return err
		}
		e.scripts.flush() // whatever becomes of the transaction: what is stored is read again
		t.out = append(t.out, resp.OK...)
		return nil
	}
	pass, err := e.shared.take(t.ctx, e.slotWait)
	if err != nil {
		return err
	}
	defer pass()
	state, err := e.options.DB.Scripts(nil).Flush(t.ctx)
	if err != nil {
		return err
	}
	e.scripts.flush()
	e.shared.scripts = state
	t.out = append(t.out, resp.OK...)
	return nil
}
