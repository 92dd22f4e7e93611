package redisapi

import (
	"context"
	"fmt"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

func functionDump(t *task, _ [][]byte) error {
	e := t.conn.engine
	if err := t.learnScripts(e.recentScripts()); err != nil {
		return err
	}
	var sources []string
	for _, l := range e.shared.functions.Load().libraries {
		sources = append(sources, string(l.source))
	}
	t.out = resp.AppendBulk(t.out, values.DumpFunctions(sources))
	return nil
}

// restoring is a FUNCTION RESTORE.
type restoring struct {
	flush, replace bool
	libraries      []*functionLibrary
}

func functionRestore(t *task, args [][]byte) error {
	r := new(restoring)
	switch {
	case len(args) > 4:
		return wrongUse("FUNCTION", args[1])
	case len(args) == 3 || is(args[3], "APPEND"):
	case is(args[3], "FLUSH"):
		r.flush = true
	case is(args[3], "REPLACE"):
		r.replace = true
	default:
		return refusal("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
	}
	sources, err := values.RestoreFunctions(args[2], maxLibraryBytes)
	if err != nil {
		return refusal(err.Error())
	}
	if len(sources) > maxLibraries {
		return errManyLibraries
	}
	if err := r.load(t, sources); err != nil {
		return err
	}
	err = t.changeFunctions(functionChange{decide: r.decide, store: func(ctx context.Context, stored core.Scripts, state string) (string, error) {
		rows := make([]core.FunctionLibrary, len(r.libraries))
		for i, l := range r.libraries {
			rows[i] = core.FunctionLibrary{Name: l.name, Source: l.source}
		}
		return stored.SaveLibraries(ctx, state, rows, r.flush)
	}})
	if err == nil {
		t.out = append(t.out, resp.OK...)
	}
	return err
}

// load loads the libraries of the payload.
func (r *restoring) load(t *task, sources []string) error {
	ctx, cancel := t.bounded()
	defer cancel()
	names := make(map[string]bool)
	for _, source := range sources {
		l, err := newLibrary([]byte(source))
		if err != nil {
			return err
		}
		if names[l.name] {
			return refusal(fmt.Sprintf("ERR Library '%s' already exists", l.name))
		}
		names[l.name] = true
		if err := t.load(ctx, l); err != nil {
			return err
		}
		r.libraries = append(r.libraries, l)
	}
	return nil
}

// decide adds the libraries to those that there are.
func (r *restoring) decide(now *functions) (next *functions, err error) {
	if r.flush {
		return newFunctions("", nil).with(r.libraries...)
	}
	for _, l := range r.libraries {
		if !r.replace && now.named(l.name) != nil {
			return nil, refusal("ERR Library " + l.name + " already exists")
		}
	}
	return now.with(r.libraries...)
}
