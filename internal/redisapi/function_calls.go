package redisapi

func callFunction(r *request, args [][]byte) error         { return r.callFunction(args, false) }
func callFunctionReadOnly(r *request, args [][]byte) error { return r.callFunction(args, true) }

func (r *request) callFunction(args [][]byte, readOnly bool) error {
	e, words := r.conn.engine, r.ownWords(args)
	if e.scriptsAreRecent() {
		if f := e.shared.functions.Load().find(words[1]); f != nil {
			return r.function(words, readOnly, f)
		}
	}
	r.alone = true
	r.prepare = func(t *task) error {
		f, err := t.findFunction(words[1])
		if err != nil {
			return err
		}
		return r.function(words, readOnly, f)
	}
	return nil
}

// function makes the edit of a command that calls a function.
func (r *request) function(words [][]byte, readOnly bool, f *function) error {
	switch n, err := parseInt(words[2]); {
	case err != nil:
		return refusal("ERR Bad number of keys provided")
	case n > int64(len(words)-3):
		return errManyKeys
	case n < 0:
		return errNegativeKeys
	}
	call := newScriptCall(words, readOnly)
	call.script, call.function = f, f.Name
	r.runCall(call)
	return nil
}

// findFunction returns a function. What this server does not know another one may have
// loaded a moment ago, so PostgreSQL is asked before it is said not to be there.
func (t *task) findFunction(name []byte) (*function, error) {
	e := t.conn.engine
	release, err := t.enter()
	if err != nil {
		return nil, err
	}
	defer release()
	now := max(e.clock(), 1)
	for _, since := range []int64{e.recentScripts(), now} {
		if err := t.learnScripts(since); err != nil {
			return nil, err
		}
		if f := e.shared.functions.Load().find(name); f != nil {
			return f, nil
		}
	}
	return nil, refusal("ERR Function not found" + e.shared.functions.Load().broken())
}
