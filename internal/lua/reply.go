package lua

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

var errReply = errors.New("lua: malformed reply")

// maxReplyDepth bounds arrays in arrays.
const maxReplyDepth = 1000

// readReply converts a reply in RESP to a Lua value.
func (m *machine) readReply(reply []byte, depth int) (v value, rest []byte, err error) {
	line, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || len(line) == 0 || depth > maxReplyDepth {
		return nilValue, nil, errReply
	}
	body := line[1:]
	switch line[0] {
	case ':':
		n, err := strconv.ParseInt(string(body), 10, 64)
		return number(float64(n)), rest, err
	case '+':
		return m.wrap("ok", m.newString(string(body))), rest, nil
	case '-':
		return m.errorTable(errorText(string(line)), true), rest, nil
	case '$', '=':
		return m.readBulk(line, rest)
	case '*', '~', '%', '>':
		return m.readAggregate(line, rest, depth)
	case '_':
		return nilValue, rest, nil
	case '#':
		return boolean(len(body) > 0 && body[0] == 't'), rest, nil
	case ',':
		n, ok := parseNumber(string(body))
		if !ok {
			return nilValue, nil, errReply
		}
		return m.wrap("double", number(n)), rest, nil
	case '(':
		return m.wrap("big_number", m.newString(string(body))), rest, nil
	}
	return nilValue, nil, errReply
}

func (m *machine) wrap(field string, v value) value {
	t := m.newTable(0, 1)
	t.setString(field, v)
	return value{o: t}
}

func (m *machine) readBulk(line, rest []byte) (value, []byte, error) {
	n, err := strconv.Atoi(string(line[1:]))
	if err == nil && n < 0 {
		return falseValue, rest, nil
	}
	if err != nil || n > len(rest)-2 {
		return nilValue, nil, errReply
	}
	body, rest := rest[:n], rest[n+2:]
	if line[0] == '$' {
		return m.newString(string(body)), rest, nil
	}
	if n < 4 {
		return nilValue, nil, errReply
	}
	t := m.newTable(0, 2)
	t.setString("format", m.newString(string(body[:3])))
	t.setString("string", m.newString(string(body[4:])))
	return m.wrap("verbatim_string", value{o: t}), rest, nil
}

func (m *machine) readAggregate(line, rest []byte, depth int) (value, []byte, error) {
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n > len(rest) {
		return nilValue, nil, errReply
	}
	if n < 0 {
		return falseValue, rest, nil
	}
	kind := line[0]
	t := m.newTable(0, 0)
	for i := 1; i <= n; i++ {
		var k, v value
		if k, rest, err = m.readReply(rest, depth+1); err != nil {
			return nilValue, nil, err
		}
		switch kind {
		case '%':
			if v, rest, err = m.readReply(rest, depth+1); err != nil {
				return nilValue, nil, err
			}
			if !k.isNil() {
				t.set(k, v)
			}
		case '~':
			if !k.isNil() {
				t.set(k, trueValue)
			}
		default:
			t.setInt(i, k)
		}
	}
	switch kind {
	case '%':
		return m.wrap("map", value{o: t}), rest, nil
	case '~':
		return m.wrap("set", value{o: t}), rest, nil
	}
	return value{o: t}, rest, nil
}

// writeReply converts what a script returns to RESP.
func (m *machine) writeReply(v value) (reply []byte, err error) {
	defer recovered(&err)
	w := &replyWriter{m: m, resp3: m.run.Protocol >= 3}
	w.value(v, 0)
	return w.dst, nil
}

// replyWriter writes values as luaReplyToRedisReply of Redis.
type replyWriter struct {
	m     *machine
	dst   []byte
	resp3 bool
}

// maxReplyNesting is the depth at which the stack of Lua in Redis ends.
const maxReplyNesting = 7997

func (w *replyWriter) value(v value, depth int) {
	w.m.tick()
	w.dst = w.m.grow(w.dst, 32)
	switch o := v.o.(type) {
	case string:
		w.bulk(o)
	case numberTag:
		w.integer(':', toInt64(v.n))
	case boolTag:
		w.boolean(v.n != 0)
	case *table:
		w.table(o, depth)
	default:
		w.null()
	}
}

func (w *replyWriter) integer(kind byte, n int64) {
	w.dst = append(strconv.AppendInt(append(w.dst, kind), n, 10), "\r\n"...)
}

func (w *replyWriter) bulk(s string) {
	w.dst = w.m.grow(w.dst, len(s)+32)
	w.integer('$', int64(len(s)))
	w.dst = append(append(w.dst, s...), "\r\n"...)
}

func (w *replyWriter) null() {
	if w.resp3 {
		w.dst = append(w.dst, "_\r\n"...)
	} else {
		w.dst = append(w.dst, "$-1\r\n"...)
	}
}

func (w *replyWriter) boolean(b bool) {
	switch script3 := w.m.protocol == 3; {
	case w.resp3 && script3 && b:
		w.dst = append(w.dst, "#t\r\n"...)
	case w.resp3 && script3:
		w.dst = append(w.dst, "#f\r\n"...)
	case b:
		w.dst = append(w.dst, ":1\r\n"...)
	case script3:
		w.dst = append(w.dst, ":0\r\n"...)
	default:
		w.null()
	}
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

func (w *replyWriter) line(kind byte, s string) {
	w.dst = w.m.grow(w.dst, len(s)+8)
	w.dst = append(append(append(w.dst, kind), lineBreaks.Replace(s)...), "\r\n"...)
}

func (w *replyWriter) table(t *table, depth int) {
	if depth*4 > maxReplyNesting {
		w.line('-', "ERR reached lua stack limit")
		return
	}
	if s, ok := t.getString("err").o.(string); ok {
		start := len(w.dst)
		w.line('-', strings.TrimRight(cString(s), "\r\n"))
		w.m.noteFailure(value{o: t}, w.dst[start:])
		return
	}
	if s, ok := t.getString("ok").o.(string); ok {
		w.line('+', cString(s))
		return
	}
	if v := t.getString("double"); v.isNumber() {
		w.double(v.n)
		return
	}
	if o, ok := t.getString("map").o.(*table); ok {
		w.pairs(o, depth)
		return
	}
	if o, ok := t.getString("set").o.(*table); ok {
		w.set(o, depth)
		return
	}
	if s, ok := t.getString("big_number").o.(string); ok {
		if s = lineBreaks.Replace(s); w.resp3 {
			w.line('(', s)
		} else {
			w.bulk(s)
		}
		return
	}
	if o, ok := t.getString("verbatim_string").o.(*table); ok && w.verbatim(o) {
		return
	}
	w.array(t, depth)
}

func (w *replyWriter) verbatim(t *table) bool {
	s, okString := t.getString("string").o.(string)
	format, okFormat := t.getString("format").o.(string)
	if !okString || !okFormat {
		return false
	}
	if !w.resp3 {
		w.bulk(s)
		return true
	}
	format = (cString(format) + "   ")[:3]
	w.dst = w.m.grow(w.dst, len(s)+64)
	w.integer('=', int64(len(s)+4))
	w.dst = append(append(append(append(w.dst, format...), ':'), s...), "\r\n"...)
	return true
}

func (w *replyWriter) double(n float64) {
	text := formatG(n, 17)
	if w.resp3 {
		w.dst = append(append(append(w.dst, ','), text...), "\r\n"...)
		return
	}
	w.bulk(text)
}

// count is how many entries the table has.
func (t *table) count() int {
	n := 0
	for _, v := range t.array {
		if !v.isNil() {
			n++
		}
	}
	for i := range t.nodes {
		if !t.nodes[i].val.isNil() {
			n++
		}
	}
	return n
}

// entries calls f for the entries in the order of next.
func (t *table) entries(f func(k, v value)) {
	for k, v, _ := t.next(nilValue); !k.isNil(); k, v, _ = t.next(k) {
		f(k, v)
	}
}

func (w *replyWriter) pairs(t *table, depth int) {
	n := t.count()
	if w.resp3 {
		w.integer('%', int64(n))
	} else {
		w.integer('*', int64(2*n))
	}
	t.entries(func(k, v value) {
		w.value(k, depth+1)
		w.value(v, depth+1)
	})
}

func (w *replyWriter) set(t *table, depth int) {
	kind := byte('*')
	if w.resp3 {
		kind = '~'
	}
	w.integer(kind, int64(t.count()))
	t.entries(func(k, _ value) { w.value(k, depth+1) })
}

func (w *replyWriter) array(t *table, depth int) {
	n := 0
	for !t.getInt(n + 1).isNil() {
		n++
	}
	w.integer('*', int64(n))
	for i := 1; i <= n; i++ {
		w.value(t.getInt(i), depth+1)
	}
}

// noteFailure tells of an error reply that no command has given.
func (m *machine) noteFailure(v value, reply []byte) {
	if t, ok := v.o.(*table); ok && t.getString(countedError).truthy() || m.run.Failed == nil {
		return
	}
	m.run.Failed(reply)
}

// appendFailure writes an error that a script did not catch. name is the SHA of
// the script or the name of the function.
func appendFailure(dst []byte, name string, failure *luaError) []byte {
	message := "ERR " + failure.value.describe()
	if t, ok := failure.value.o.(*table); ok {
		message, ok = t.getString("err").text()
		if !ok {
			message = "ERR unknown error"
		}
	}
	message = cString(message) + " script: " + name
	if failure.source != "" {
		message += ", on " + failure.source + ":" + strconv.Itoa(failure.line) + "."
	}
	dst = append(dst, '-')
	dst = append(dst, lineBreaks.Replace(message)...)
	return append(dst, "\r\n"...)
}
