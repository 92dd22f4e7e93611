package lua

import "fmt"

// argumentError complains of argument i, counted from 0.
func (th *thread) argumentError(i int, message string) {
	name := "?"
	if s := th.site; s != nil {
		name = s.name
		if s.method {
			if i--; i < 0 {
				th.fail("calling '%s' on bad self (%s)", name, message)
			}
		}
	}
	th.fail("bad argument #%d to '%s' (%s)", i+1, name, message)
}

func (th *thread) typeMismatch(args []value, i int, want string) {
	got := "no value"
	if i < len(args) {
		got = args[i].typeName()
	}
	th.argumentError(i, fmt.Sprintf("%s expected, got %s", want, got))
}

func arg(args []value, i int) value {
	if i < len(args) {
		return args[i]
	}
	return nilValue
}

func (th *thread) checkAny(args []value, i int) value {
	if i >= len(args) {
		th.argumentError(i, "value expected")
	}
	return args[i]
}

func (th *thread) checkString(args []value, i int) string {
	if i < len(args) {
		if s, ok := args[i].text(); ok {
			return s
		}
	}
	th.typeMismatch(args, i, "string")
	return ""
}

func (th *thread) checkNumber(args []value, i int) float64 {
	if i < len(args) {
		if n, ok := args[i].toNumber(); ok {
			return n
		}
	}
	th.typeMismatch(args, i, "number")
	return 0
}

// checkInteger is luaL_checkinteger: 64 bits.
func (th *thread) checkInteger(args []value, i int) int {
	return int(toInt64(th.checkNumber(args, i)))
}

func (th *thread) optInteger(args []value, i, otherwise int) int {
	if arg(args, i).isNil() {
		return otherwise
	}
	return th.checkInteger(args, i)
}

// checkInt is luaL_checkint: 32 bits.
func (th *thread) checkInt(args []value, i int) int { return toInt(th.checkNumber(args, i)) }

func (th *thread) optInt(args []value, i, otherwise int) int {
	if arg(args, i).isNil() {
		return otherwise
	}
	return th.checkInt(args, i)
}

func (th *thread) optString(args []value, i int, otherwise string) string {
	if arg(args, i).isNil() {
		return otherwise
	}
	return th.checkString(args, i)
}

func (th *thread) checkTable(args []value, i int) *table {
	if t, ok := arg(args, i).o.(*table); ok {
		return t
	}
	th.typeMismatch(args, i, "table")
	return nil
}

func (th *thread) checkFunction(args []value, i int) value {
	v := arg(args, i)
	if _, ok := v.o.(*function); !ok {
		th.typeMismatch(args, i, "function")
	}
	return v
}

// rawSet stores for a builtin.
func (th *thread) rawSet(t *table, k, v value) {
	if t.readonly {
		th.throw(str(readonlyMessage))
	}
	if k.isNil() {
		th.throw(str("table index is nil"))
	}
	if k.isNumber() && k.n != k.n {
		th.throw(str("table index is NaN"))
	}
	t.set(k, v)
}
