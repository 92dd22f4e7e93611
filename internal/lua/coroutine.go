package lua

import "errors"

func coroutineLibrary() map[string]builtin {
	return map[string]builtin{
		"create": coroutineCreate, "resume": coroutineResume, "running": coroutineRunning,
		"status": coroutineStatus, "wrap": coroutineWrap, "yield": coroutineYield,
	}
}

// errStopped unwinds coroutines that are left when a run ends.
var errStopped = errors.New("lua: the run is over")

// coroutineBytes is what a coroutine takes, its goroutine included.
const coroutineBytes = 16 << 10

func (th *thread) newCoroutine(args []value) *thread {
	fn, ok := arg(args, 0).o.(*function)
	if !ok || fn.native != nil {
		th.argumentError(0, "Lua function expected")
	}
	th.m.charge(coroutineBytes)
	co := newThread(th.m)
	co.fn = fn
	return co
}

func coroutineCreate(th *thread, args []value) []value {
	return th.one(value{o: th.newCoroutine(args)})
}

func coroutineWrap(th *thread, args []value) []value {
	co := th.newCoroutine(args)
	fn := th.m.builtin("wrap", func(th *thread, args []value) []value {
		results, failure := th.resumeCoroutine(co, args)
		if failure != nil {
			v := failure.value
			if s, ok := v.text(); ok {
				v = str(th.where(1) + s)
			}
			th.throw(v)
		}
		return results
	})
	fn.o.(*function).upvalues = []*cell{{v: value{o: co}}}
	return th.one(fn)
}

func (th *thread) checkCoroutine(args []value) *thread {
	co, ok := arg(args, 0).o.(*thread)
	if !ok {
		th.argumentError(0, "coroutine expected")
	}
	return co
}

func coroutineResume(th *thread, args []value) []value {
	results, failure := th.resumeCoroutine(th.checkCoroutine(args), args[1:])
	if failure != nil {
		return th.two(falseValue, failure.value)
	}
	return th.prepend(trueValue, results)
}

// resumeCoroutine runs a coroutine until it yields, returns or fails.
func (th *thread) resumeCoroutine(co *thread, args []value) ([]value, *luaError) {
	if co.status != "suspended" {
		return nil, &luaError{value: str("cannot resume " + co.statusSeen() + " coroutine")}
	}
	if th.m.natives >= maxNative {
		th.raise("C stack overflow")
	}
	co.transfer = append([]value(nil), args...)
	if co.resume == nil {
		co.start()
		th.m.coroutines = append(th.m.coroutines, co)
	}
	co.status, th.status, co.resumer, th.m.running = "running", "normal", th, co
	natives := th.m.natives
	th.m.natives++
	_, more := co.resume()
	th.m.natives = natives
	th.status, co.resumer, th.m.running = "running", nil, th
	if more {
		co.status = "suspended"
		return co.transfer, nil
	}
	co.status = "dead"
	th.m.depth -= co.depth // frames that an error left
	co.depth = 0
	th.m.forget(co)
	switch p := co.failure.(type) {
	case nil:
		return co.transfer, nil
	case *luaError:
		return nil, p
	default:
		panic(p)
	}
}

func coroutineYield(th *thread, args []value) []value {
	if th.fn == nil || th.natives > 0 {
		th.throw(str("attempt to yield across metamethod/C-call boundary"))
	}
	th.transfer = append([]value(nil), args...)
	depth := th.depth
	th.m.depth -= depth
	if !th.suspend(struct{}{}) {
		th.m.end(errStopped)
	}
	th.m.depth += depth
	return th.several(th.transfer)
}

func coroutineRunning(th *thread, _ []value) []value {
	if th.fn == nil {
		return th.one(nilValue)
	}
	return th.one(value{o: th})
}

// statusSeen is how errors call the status of a coroutine that cannot be resumed.
func (th *thread) statusSeen() string {
	return th.status
}

func coroutineStatus(th *thread, args []value) []value {
	co := th.checkCoroutine(args)
	return th.one(str(co.status))
}

// forget drops a coroutine that has ended.
func (m *machine) forget(co *thread) {
	for i, c := range m.coroutines {
		if c == co {
			last := len(m.coroutines) - 1
			m.coroutines[i] = m.coroutines[last]
			m.coroutines = m.coroutines[:last]
			return
		}
	}
}

// stopCoroutines unwinds those that have neither returned nor failed.
func (m *machine) stopCoroutines() {
	for _, co := range m.coroutines {
		co.stop()
	}
	clear(m.coroutines)
	m.coroutines = m.coroutines[:0]
}
