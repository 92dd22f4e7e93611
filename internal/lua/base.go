package lua

import (
	"strconv"
	"strings"
)

func baseLibrary() map[string]builtin {
	return map[string]builtin{
		"assert": baseAssert, "collectgarbage": baseCollect, "error": baseError, "gcinfo": baseGCInfo,
		"getmetatable": baseGetMetatable, "ipairs": baseIpairs, "load": baseLoad, "loadstring": baseLoadString,
		"next": baseNext, "pairs": basePairs, "pcall": basePcall, "rawequal": baseRawEqual, "rawget": baseRawGet,
		"rawset": baseRawSet, "select": baseSelect, "setmetatable": baseSetMetatable, "tonumber": baseToNumber,
		"tostring": baseToString, "type": baseType, "unpack": baseUnpack, "xpcall": baseXpcall,
		"__redis__err__handler": baseErrorHandler,
	}
}

func baseAssert(th *thread, args []value) []value {
	if !th.checkAny(args, 0).truthy() {
		th.fail("%s", th.optString(args, 1, "assertion failed!"))
	}
	return th.several(args)
}

func baseCollect(th *thread, args []value) []value {
	switch option := cString(th.optString(args, 0, "collect")); option {
	case "count":
		return th.one(number(float64(th.m.used) / 1024))
	case "stop", "restart", "collect", "step", "setpause", "setstepmul":
		if option == "step" {
			return th.one(falseValue)
		}
		return th.one(number(0))
	default:
		th.argumentError(0, "invalid option '"+option+"'")
	}
	return nil
}

func baseGCInfo(th *thread, _ []value) []value {
	return th.one(number(float64(th.m.used >> 10)))
}

func baseError(th *thread, args []value) []value {
	level := th.optInt(args, 1, 1)
	v := arg(args, 0)
	if s, ok := v.text(); ok && level > 0 {
		position := ""
		if th.site == nil { // called by a builtin, which is level 1
			level--
		}
		if level > 0 {
			position = th.where(level)
		}
		v = str(position + s)
	}
	th.throw(v)
	return nil
}

// baseErrorHandler is visible to scripts, as in Redis.
func baseErrorHandler(th *thread, args []value) []value {
	if _, ok := arg(args, 0).o.(*table); ok {
		return th.one(args[0])
	}
	t := th.m.newTable(0, 1)
	t.setString("err", str("ERR "+th.toString(arg(args, 0))))
	return th.one(value{o: t})
}

func baseGetMetatable(th *thread, args []value) []value {
	mt := th.m.metatable(th.checkAny(args, 0))
	if mt == nil {
		return th.one(nilValue)
	}
	if v := mt.getString("__metatable"); !v.isNil() {
		return th.one(v)
	}
	return th.one(value{o: mt})
}

func baseSetMetatable(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	mt, ok := arg(args, 1).o.(*table)
	if !ok && (len(args) < 2 || !args[1].isNil()) {
		th.argumentError(1, "nil or table expected")
	}
	if t.meta != nil && !t.meta.getString("__metatable").isNil() {
		th.fail("cannot change a protected metatable")
	}
	if t.readonly {
		th.throw(str(readonlyMessage))
	}
	t.meta = mt
	return th.one(args[0])
}

func baseIpairs(th *thread, args []value) []value {
	th.checkTable(args, 0)
	return th.several([]value{th.m.ipairs, args[0], number(0)})
}

func ipairsStep(th *thread, args []value) []value {
	i := th.checkInt(args, 1) + 1 // before the first, as in Redis
	t := th.checkTable(args, 0)
	v := t.getInt(i)
	if v.isNil() {
		return nil
	}
	return th.two(number(float64(i)), v)
}

func baseNext(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	k, v, ok := t.next(arg(args, 1))
	if !ok {
		th.throw(str("invalid key to 'next'"))
	}
	if k.isNil() {
		return th.one(nilValue)
	}
	return th.two(k, v)
}

func basePairs(th *thread, args []value) []value {
	th.checkTable(args, 0)
	return th.several([]value{th.m.nextFunction, args[0], nilValue})
}

func basePcall(th *thread, args []value) []value {
	th.checkAny(args, 0)
	results, failure := th.protect(args[0], args[1:]...)
	if failure != nil {
		return th.caught(failure.value)
	}
	return th.prepend(trueValue, results)
}

// caught is what pcall returns of an error: of a table with err, as redis.call
// raises, only the text, as in Redis.
func (th *thread) caught(v value) []value {
	t, ok := v.o.(*table)
	if !ok {
		return th.two(falseValue, v)
	}
	text := t.getString("err")
	if _, ok := text.text(); ok {
		return th.two(falseValue, text)
	}
	return th.several([]value{falseValue, v, text})
}

func baseXpcall(th *thread, args []value) []value {
	if len(args) < 2 {
		th.argumentError(1, "value expected")
	}
	handler := args[1]
	results, failure := th.protect(args[0])
	if failure == nil {
		return th.prepend(trueValue, results)
	}
	handled, failure := th.protect(handler, failure.value)
	if failure != nil {
		return th.two(falseValue, failure.value)
	}
	return th.two(falseValue, first(handled))
}

func baseRawEqual(th *thread, args []value) []value {
	th.checkAny(args, 0)
	return th.one(boolean(args[0].equal(th.checkAny(args, 1))))
}

func baseRawGet(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	return th.one(t.get(th.checkAny(args, 1)))
}

func baseRawSet(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	th.checkAny(args, 1)
	th.checkAny(args, 2)
	th.rawSet(t, args[1], args[2])
	return th.one(args[0])
}

func baseSelect(th *thread, args []value) []value {
	if s, ok := arg(args, 0).o.(string); ok && strings.HasPrefix(s, "#") {
		return th.one(number(float64(len(args) - 1)))
	}
	i := th.checkInt(args, 0)
	if i < 0 {
		i += len(args)
	} else if i > len(args) {
		i = len(args)
	}
	if i < 1 {
		th.argumentError(0, "index out of range")
	}
	return th.several(args[i:])
}

func baseToNumber(th *thread, args []value) []value {
	base := th.optInt(args, 1, 10)
	if base == 10 {
		if n, ok := th.checkAny(args, 0).toNumber(); ok {
			return th.one(number(n))
		}
		return th.one(nilValue)
	}
	s := th.checkString(args, 0)
	if base < 2 || base > 36 {
		th.argumentError(1, "base out of range")
	}
	s = strings.Trim(cString(s), spaces)
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if base == 16 && len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		s = s[2:]
	}
	n, err := strconv.ParseUint(s, base, 64)
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
		n, negative, err = 1<<64-1, false, nil
	}
	if err != nil || strings.Contains(s, "_") {
		return th.one(nilValue)
	}
	if negative {
		n = -n
	}
	return th.one(number(float64(n)))
}

func (th *thread) toString(v value) string {
	if handler := th.metamethod(v, "__tostring"); !handler.isNil() {
		r := first(th.call(handler, v))
		s, ok := r.text()
		if !ok {
			th.fail("'tostring' must return a string to 'print'")
		}
		return s
	}
	return v.describe()
}

func baseToString(th *thread, args []value) []value {
	v := th.checkAny(args, 0)
	if handler := th.metamethod(v, "__tostring"); !handler.isNil() {
		return th.one(first(th.call(handler, v)))
	}
	if _, ok := v.o.(string); ok {
		return th.one(v)
	}
	return th.one(th.m.newString(v.describe()))
}

func baseType(th *thread, args []value) []value {
	return th.one(str(th.checkAny(args, 0).typeName()))
}

// maxStack is how many values a builtin of Lua 5.1 may have on its stack, its arguments included.
const maxStack = 8000

func baseUnpack(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	i := th.optInt(args, 1, 1)
	e := 0
	if arg(args, 2).isNil() {
		e = t.length()
	} else {
		e = th.checkInt(args, 2)
	}
	if i > e {
		return nil
	}
	n := e - i + 1
	if n <= 0 || len(args)+n > maxStack {
		th.fail("too many results to unpack")
	}
	th.m.ticks(n / 16)
	values := make([]value, 0, n)
	for ; n > 0; n-- {
		values = append(values, t.getInt(i))
		i++
	}
	return values
}

func baseLoadString(th *thread, args []value) []value {
	source := th.checkString(args, 0)
	return th.load(source, th.optString(args, 1, source))
}

func baseLoad(th *thread, args []value) []value {
	reader := th.checkFunction(args, 0)
	name := th.optString(args, 1, "=(load)")
	var source strings.Builder
	for {
		part := th.call1(reader)
		if part.isNil() {
			break
		}
		s, ok := part.text()
		if !ok {
			return th.two(nilValue, str("reader function must return a string"))
		}
		if s == "" {
			break
		}
		th.m.charge(len(s))
		source.WriteString(s)
	}
	return th.load(source.String(), name)
}

// load compiles a chunk for a script. Bytecode is refused.
func (th *thread) load(source, name string) []value {
	name = cString(name)
	th.m.charge(8 * len(source))
	th.m.ticks(len(source) / 8)
	chunk := chunkName(name)
	if strings.HasPrefix(source, "\x1b") {
		return th.two(nilValue, str(chunk+": bad header in precompiled chunk"))
	}
	p, err := compile(chunk, name, source)
	if err != nil {
		return th.two(nilValue, th.m.newString(err.message))
	}
	return th.one(th.m.newFunction(p))
}

// chunkName is how errors name a chunk: luaO_chunkid.
func chunkName(name string) string {
	const size = 60
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), size)]
	case strings.HasPrefix(name, "@"):
		name = name[1:]
		if limit := size - len(" '...' ") - 1; len(name) > limit {
			return "..." + name[len(name)-limit:]
		}
		return name
	}
	line, _, more := strings.Cut(name, "\n")
	if i := strings.IndexByte(line, '\r'); i >= 0 {
		line, more = line[:i], true
	}
	if limit := size - len(` [string "..."] `) - 1; len(line) > limit {
		line, more = line[:limit], true
	}
	if more {
		line += "..."
	}
	return `[string "` + line + `"]`
}
