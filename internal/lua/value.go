package lua

import (
	"fmt"
	"strings"
)

// value is a Lua value. The dynamic type of o is the type of the value: nil,
// boolTag, numberTag, string, *table, *function, *thread or *userdata. Numbers
// and booleans are in n.
type value struct {
	n float64
	o any
}

type (
	numberTag struct{}
	boolTag   struct{}
)

// userdata is a value that scripts can only hand around, as cjson.null.
type userdata struct{ name string }

// function is a Lua closure (proto is set) or a builtin (native is set).
type function struct {
	proto    *proto
	upvalues []*cell
	native   builtin
	name     string
	id       uint64
}

// cell holds a local variable that an inner function refers to.
type cell struct{ v value }

var (
	nilValue   = value{}
	trueValue  = value{n: 1, o: boolTag{}}
	falseValue = value{o: boolTag{}}
)

// cString is s up to its first NUL, where the functions of C end a text. Strings of
// Lua go on, those that Redis and the libraries hand to C do not.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func number(n float64) value { return value{n: n, o: numberTag{}} }
func str(s string) value     { return value{o: s} }

func boolean(b bool) value {
	if b {
		return trueValue
	}
	return falseValue
}

func (v value) isNil() bool { return v.o == nil }

func (v value) truthy() bool {
	switch v.o.(type) {
	case nil:
		return false
	case boolTag:
		return v.n != 0
	}
	return true
}

func (v value) isNumber() bool {
	_, ok := v.o.(numberTag)
	return ok
}

// typeName is what the function type answers.
func (v value) typeName() string {
	switch v.o.(type) {
	case nil:
		return "nil"
	case boolTag:
		return "boolean"
	case numberTag:
		return "number"
	case string:
		return "string"
	case *table:
		return "table"
	case *function:
		return "function"
	case *thread:
		return "thread"
	}
	return "userdata"
}

// text is the string that a string or a number converts to.
func (v value) text() (string, bool) {
	switch o := v.o.(type) {
	case string:
		return o, true
	case numberTag:
		return formatNumber(v.n), true
	}
	return "", false
}

// toNumber is the number that a number or a numeric string converts to.
func (v value) toNumber() (float64, bool) {
	switch o := v.o.(type) {
	case numberTag:
		return v.n, true
	case string:
		return parseNumber(o)
	}
	return 0, false
}

// equal compares without metamethods.
func (v value) equal(w value) bool {
	switch o := v.o.(type) {
	case nil:
		return w.o == nil
	case numberTag:
		_, ok := w.o.(numberTag)
		return ok && v.n == w.n
	case boolTag:
		_, ok := w.o.(boolTag)
		return ok && v.n == w.n
	case string:
		s, ok := w.o.(string)
		return ok && o == s
	}
	return v.o == w.o
}

// describe is tostring without metamethods. Addresses are counters, so that
// runs of a script are equal.
func (v value) describe() string {
	switch o := v.o.(type) {
	case nil:
		return "nil"
	case boolTag:
		if v.n != 0 {
			return "true"
		}
		return "false"
	case numberTag:
		return formatNumber(v.n)
	case string:
		return o
	case *table:
		return address("table", o.id)
	case *function:
		if o.native != nil {
			return address("function: builtin", o.id)
		}
		return address("function", o.id)
	case *thread:
		return address("thread", o.id)
	case *userdata:
		return "userdata: (nil)"
	}
	return "?"
}

func address(kind string, id uint64) string { return fmt.Sprintf("%s: 0x%012x", kind, id<<4) }
