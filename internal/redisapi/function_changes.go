package redisapi

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/resp"
)

// loadTime is how long a library may take to register its functions, as in Redis.
const loadTime = 500 * time.Millisecond

const (
	errLoadTime        = refusal("ERR Error registering functions: ERR FUNCTION LOAD timeout")
	errNoLibrary       = refusal("ERR Library not found")
	errLongLibrary     = refusal("ERR library is longer than 1048576 bytes; use a shorter one")
	errLongLibraryName = refusal("ERR library name is longer than 1024 bytes; use a shorter one")
)

// functionChange is a change of the libraries. decide returns the functions after it,
// given those before it; store does the same in PostgreSQL, if the state there is still
// the one given.
type functionChange struct {
	decide func(now *functions) (next *functions, err error)
	store  func(ctx context.Context, stored core.Scripts, state string) (next string, err error)
}

// changeFunctions decides by what is stored now, and again if another server was faster.
func (t *task) changeFunctions(change functionChange) error {
	if t.tx != nil {
		return errNotInMulti
	}
	e := t.conn.engine
	for begin := time.Now(); time.Since(begin) < e.options.TaskTimeout; {
		if err := e.learnScripts(t.ctx, max(e.clock(), 1)); err != nil {
			return err
		}
		now := e.shared.functions.Load()
		next, err := change.decide(now)
		if err != nil {
			return err
		}
		state, err := change.store(t.ctx, e.options.DB.Scripts(nil), now.state)
		if err != nil {
			e.shared.asked.Store(0) // whether it was done is not known
			return err
		}
		if state != "" {
			next.state = state
			return e.install(t.ctx, now, next)
		}
	}
	return fault.Timeout("other servers kept changing the function libraries; nothing was changed", nil)
}

// install makes a change that is stored the functions of this server.
func (e *Engine) install(ctx context.Context, before, next *functions) error {
	select {
	case e.shared.turn <- struct{}{}:
	case <-ctx.Done():
		return fault.ErrClosed
	}
	current := e.shared.functions.CompareAndSwap(before, next)
	<-e.shared.turn
	if current {
		return nil
	}
	return e.learnScripts(ctx, max(e.clock(), 1)) // it has learnt a later state
}

func functionLoad(t *task, args [][]byte) error {
	replace := false
	for _, arg := range args[2 : len(args)-1] {
		if !is(arg, "REPLACE") {
			return refusal("ERR Unknown option given: " + string(cString(arg, len(arg))))
		}
		replace = true
	}
	source := args[len(args)-1]
	library, err := newLibrary(source)
	if err != nil {
		return err
	}
	name := library.name
	err = t.changeFunctions(functionChange{
		decide: func(now *functions) (*functions, error) {
			if !replace && now.named(name) != nil {
				return nil, refusal(fmt.Sprintf("ERR Library '%s' already exists", name))
			}
			if err := t.load(t.ctx, library); err != nil {
				return nil, err
			}
			return now.with(library)
		},
		store: func(ctx context.Context, stored core.Scripts, state string) (string, error) {
			return stored.SaveLibraries(ctx, state, []core.FunctionLibrary{{Name: name, Source: source}}, false)
		},
	})
	if err == nil {
		t.out = resp.AppendBulkString(t.out, name)
	}
	return err
}

// newLibrary returns a library that is not loaded yet.
func newLibrary(source []byte) (*functionLibrary, error) {
	if len(source) > maxScriptText {
		return nil, errLongLibrary
	}
	name, err := lua.LibraryName(source)
	switch {
	case err != nil:
		return nil, refusal(err.Error())
	case len(name) > maxLibraryName:
		return nil, errLongLibraryName
	}
	return &functionLibrary{name: name, source: source}, nil
}

// load loads a library, if it is not loaded yet.
func (t *task) load(ctx context.Context, l *functionLibrary) error {
	if l.library != nil {
		return nil
	}
	leave, err := t.conn.engine.scripts.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errLoadTime)
	defer cancel()
	if l.library, err = lua.LoadLibrary(ctx, l.source, lua.Limits{}); err != nil {
		return scriptError(err)
	}
	return nil
}

func functionDelete(t *task, args [][]byte) error {
	name := string(args[2])
	err := t.changeFunctions(functionChange{
		decide: func(now *functions) (*functions, error) {
			if now.named(name) == nil {
				return nil, errNoLibrary
			}
			return newFunctions("", without(now.libraries, map[string]bool{name: true})), nil
		},
		store: func(ctx context.Context, stored core.Scripts, state string) (string, error) {
			return stored.DeleteLibrary(ctx, state, name)
		},
	})
	if err == nil {
		t.out = append(t.out, resp.OK...)
	}
	return err
}

func functionFlush(t *task, args [][]byte) error {
	switch {
	case len(args) > 3:
		return wrongUse("FUNCTION", args[1])
	case len(args) == 3 && !is(args[2], "SYNC") && !is(args[2], "ASYNC"):
		return refusal("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	err := t.changeFunctions(functionChange{
		decide: func(*functions) (*functions, error) { return newFunctions("", nil), nil },
		store: func(ctx context.Context, stored core.Scripts, state string) (string, error) {
			return stored.SaveLibraries(ctx, state, nil, true)
		},
	})
	if err == nil {
		t.out = append(t.out, resp.OK...)
	}
	return err
}
