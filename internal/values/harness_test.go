package values_test

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// reply encodes answers as RESP.
type reply struct {
	proto resp.Proto
	out   []byte
}

func (r *reply) RESP3() bool      { return r.proto == resp.RESP3 }
func (r *reply) Status(s string)  { r.out = resp.AppendSimple(r.out, s) }
func (r *reply) Int(n int64)      { r.out = resp.AppendInt(r.out, n) }
func (r *reply) Bulk(s string)    { r.out = resp.AppendBulkString(r.out, s) }
func (r *reply) Double(f float64) { r.out = resp.AppendDouble(r.out, r.proto, f) }
func (r *reply) Null()            { r.out = resp.AppendNull(r.out, r.proto) }
func (r *reply) NullArray()       { r.out = resp.AppendNullArray(r.out, r.proto) }
func (r *reply) Array(n int)      { r.out = resp.AppendArray(r.out, n) }
func (r *reply) Map(n int)        { r.out = resp.AppendMap(r.out, r.proto, n) }
func (r *reply) Set(n int)        { r.out = resp.AppendSet(r.out, r.proto, n) }

// namedEvent is an event with its key, and the command line that named it.
type namedEvent struct{ event, line string }

// store runs commands over a map, as a server would over a table.
type store struct {
	t        *testing.T
	now      int64
	rand     *rand.Rand
	commands map[string]*values.Command
	entries  map[string]*values.Entry
	events   []namedEvent // of commands, of the classes that are wanted
	wants    values.Class
}

func newStore(t *testing.T, seed uint64) *store {
	s := &store{t: t, now: 1_700_000_000_000, rand: rand.New(rand.NewPCG(seed, 1)),
		commands: map[string]*values.Command{}, entries: map[string]*values.Entry{}}
	for _, cmd := range values.Commands() {
		s.commands[cmd.Name] = cmd
	}
	return s
}

func (s *store) Entry(key []byte) *values.Entry {
	e := s.entries[string(key)]
	if e == nil {
		e = &values.Entry{}
		s.entries[string(key)] = e
	}
	return e
}

// do runs a command line and returns the reply in version 2.
func (s *store) do(line ...string) string { return s.run(resp.RESP2, line...) }

// words is do for a line of words without spaces in them.
func (s *store) words(line string) string { return s.do(strings.Fields(line)...) }

func (s *store) run(proto resp.Proto, line ...string) string {
	args := make([][]byte, len(line))
	for i, arg := range line {
		args[i] = []byte(arg)
	}
	r := &reply{proto: proto}
	cmd := s.commands[strings.ToLower(line[0])]
	if cmd == nil {
		s.t.Fatalf("no command %q", line[0])
	}
	if !cmd.Takes(len(args)) {
		return "-ERR wrong number of arguments for '" + cmd.Name + "' command\r\n"
	}
	s.checked(cmd, args, r)
	return string(r.out)
}

// checked runs a command and checks what it says it has changed.
func (s *store) checked(cmd *values.Command, args [][]byte, r *reply) {
	before := map[*values.Entry][]byte{}
	for _, key := range cmd.Keys(nil, args) {
		e := s.Entry(key)
		// Takes out what has expired.
		s.commands["exists"].Run(&values.Call{Args: [][]byte{nil, key}, Keys: s, Now: s.now, Reply: &reply{}, Notify: func(values.Class, string, []byte) {}})
		e.Changed = false
		before[e] = packed(e)
	}
	guard := &guarded{s, before, cmd.Open != nil && cmd.Open(args)}
	call := &values.Call{Args: args, Keys: guard, Now: s.now, Rand: s.rand, Reply: r, ReadOnly: !cmd.Writes()}
	call.Notify = func(class values.Class, event string, key []byte) {
		if s.wants&class != 0 {
			s.events = append(s.events, namedEvent{event + " " + string(key), string(bytes.Join(args, []byte(" ")))})
		}
	}
	err := cmd.Run(call)
	if err != nil {
		if len(r.out) > 0 {
			s.t.Fatalf("%q: an error behind a part of the reply %q", args, r.out)
		}
		r.out = resp.AppendError(nil, err.Error())
	}
	for e, old := range before {
		same := bytes.Equal(old, packed(e))
		if e.Changed && (!cmd.Writes() || err != nil) || !e.Changed && !same {
			s.t.Fatalf("%q: changed %v, before %q, after %q, error %v", args, e.Changed, old, packed(e), err)
		}
		if e.Value != nil && e.Value.Kind() != values.KindString && e.Value.Len() == 0 {
			s.t.Fatalf("%q left an empty collection", args)
		}
	}
}

// guarded gives the entries that a command has named, and no others.
type guarded struct {
	*store
	named map[*values.Entry][]byte
	open  bool // the command may read others
}

func (g *guarded) Entry(key []byte) *values.Entry {
	e := g.store.Entry(key)
	if _, ok := g.named[e]; !ok && !g.open {
		g.t.Fatalf("a command asks for key %q, which Keys did not name", key)
	}
	return e
}

func packed(e *values.Entry) []byte {
	if e.Value == nil {
		return nil
	}
	return values.Encode([]byte{byte(e.Value.Kind()), byte(e.ExpiresAt), byte(e.ExpiresAt >> 8)}, e.Value)
}

// reload packs all values and unpacks them, as between two commands that do not
// share a load.
func (s *store) reload() {
	s.t.Helper()
	for key, e := range s.entries {
		if e.Value == nil {
			continue
		}
		v, err := values.Decode(e.Value.Kind(), values.Encode(nil, e.Value))
		if err != nil {
			s.t.Fatalf("%q: %v", key, err)
		}
		e.Value = v
	}
}

func reader(raw string) *bufio.Reader { return bufio.NewReader(strings.NewReader(raw)) }

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// digestOf asks for the digest of a string.
func digestOf(text string) string {
	s := newStore(nil, 1)
	s.do("SET", "k", text)
	return show(s.do("DIGEST", "k"))
}

// list returns the elements of an array.
func list(raw string) []string {
	r, _ := resp.ReadReply(reader(raw))
	texts := make([]string, len(r.Elems))
	for i, elem := range r.Elems {
		texts[i] = showReply(elem)
	}
	return texts
}

// reply2 returns the elements of an array of two.
func reply2(t *testing.T, raw string) []resp.Reply {
	t.Helper()
	r, err := resp.ReadReply(reader(raw))
	if err != nil || len(r.Elems) != 2 {
		t.Fatalf("%q: %v", raw, err)
	}
	return r.Elems
}
