package values_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/values"
)

// Events of commands that redis-server 7.0 does not have, and of what random command
// lines do not reach.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prepare []string
		line    string
		events  []string
	}{
		{nil, "HSETEX h EX 100 FIELDS 1 f v", []string{"new h", "hset h", "hexpire h"}},
		{nil, "HSETEX h FIELDS 1 f v", []string{"new h", "hset h"}},
		{[]string{"HSET h f v"}, "HSETEX h PXAT 1 FIELDS 1 f v", []string{"hset h", "hdel h", "del h"}},
		{[]string{"HSET h f v"}, "HSETEX h FNX FIELDS 1 f v", nil},
		{[]string{"HSET h f v"}, "HEXPIRE h 100 FIELDS 2 f x", []string{"hexpire h"}},
		{[]string{"HSET h f v g v"}, "HPEXPIREAT h 1 FIELDS 1 f", []string{"hdel h"}},
		{[]string{"HSET h f v"}, "HEXPIRE h 0 FIELDS 1 f", []string{"hdel h", "del h"}},
		{[]string{"HSET h f v"}, "HEXPIRE h 100 XX FIELDS 1 f", nil},
		{[]string{"HSET h f v", "HEXPIRE h 100 FIELDS 1 f"}, "HPERSIST h FIELDS 1 f", []string{"hpersist h"}},
		{[]string{"HSET h f v"}, "HPERSIST h FIELDS 1 f", nil},
		{[]string{"HSET h f v g v"}, "HGETDEL h FIELDS 1 f", []string{"hdel h"}},
		{[]string{"HSET h f v"}, "HGETDEL h FIELDS 2 f g", []string{"hdel h", "del h"}},
		{[]string{"HSET h f v"}, "HGETEX h EX 5 FIELDS 1 f", []string{"hexpire h"}},
		{[]string{"HSET h f v", "HEXPIRE h 100 FIELDS 1 f"}, "HGETEX h PERSIST FIELDS 1 f", []string{"hpersist h"}},
		{[]string{"HSET h f v"}, "HGETEX h FIELDS 1 f", nil},
		{nil, "HTTL h FIELDS 1 f", []string{"keymiss h"}},
		{nil, "MSETEX 2 a 1 b 2 EX 100", []string{"new a", "set a", "expire a", "new b", "set b", "expire b"}},
		{[]string{"SET a 1"}, "DELEX a IFEQ 1", []string{"del a"}},
		{[]string{"SET a 1"}, "DELEX a IFEQ 2", nil},
		{[]string{"SET a 1"}, "DELIFEQ a 1", []string{"del a"}},
		{nil, "INCREX n BYINT 2 EX 10", []string{"new n", "incrby n", "expire n"}},
		{nil, "INCREX n BYFLOAT 2", []string{"new n", "incrbyfloat n"}},
		{[]string{"SET n 1 EX 100"}, "INCREX n PERSIST", []string{"incrby n", "persist n"}},
		{[]string{"SET n 1"}, "INCREX n UBOUND 1", nil},
		{nil, "SET k v PXAT 1", []string{"new k", "set k", "expire k", "expired k"}},
		{[]string{"SET k v"}, "RENAME k k", nil},
		{nil, "SORT l BY w_* STORE d", []string{"keymiss l"}},
		{[]string{"RPUSH l 1"}, "SORT l BY w_* GET g_* STORE d", []string{"keymiss w_1", "keymiss g_1", "new d", "sortstore d"}},
		{nil, "OBJECT ENCODING k", nil},
	} {
		s := newStore(t, 1)
		for _, line := range c.prepare {
			s.words(line)
		}
		s.wants = ^values.Class(0)
		if name := "OBJECT ENCODING k"; c.line == name {
			s.do("OBJECT|ENCODING", "", "k")
		} else {
			s.words(c.line)
		}
		var events []string
		for _, e := range s.events {
			events = append(events, e.event)
		}
		require.Equal(t, c.events, events, "%q after %q", c.line, c.prepare)
	}
}

// Nobody pays for events that nobody wants.
func TestEventsThatNobodyWantsCostNothing(t *testing.T) {
	commands := map[string]*values.Command{}
	for _, cmd := range values.Commands() {
		commands[cmd.Name] = cmd
	}
	s := newStore(t, 1)
	s.words("HSET h f v")
	cost := func(notify func(values.Class, string, []byte)) float64 {
		call := &values.Call{Args: [][]byte{nil, []byte("h"), []byte("f"), []byte("w")}, Keys: s, Now: s.now, Notify: notify}
		return testing.AllocsPerRun(100, func() {
			call.Reply = &reply{out: make([]byte, 0, 16)}
			if err := commands["hset"].Run(call); err != nil {
				t.Fatal(err)
			}
		})
	}
	require.Equal(t, cost(func(values.Class, string, []byte) {}), cost(nil))
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"KEA", "AKE"}, {"Ex", "xE"}, {"gxE", "gxE"}, {"g$lshzxetdKEnm", "AKEm"}, {"nK", "nK"}, {"mK", "Km"}, {"An", "A"}, {"gg", "g"},
	} {
		classes, ok := values.ParseClasses(c.text)
		require.True(t, ok, c.text)
		require.Equal(t, c.want, classes.String(), c.text)
		same, ok := values.ParseClasses(classes.Letters())
		require.True(t, ok)
		require.Equal(t, classes, same)
	}
	for _, text := range []string{"x ", "KEAy", "a", "\x00", "Ké"} {
		_, ok := values.ParseClasses(text)
		require.False(t, ok, text)
	}
	require.Zero(t, classesOf(t, "A").Active(), "no channel")
	require.Zero(t, classesOf(t, "KE").Active(), "no class")
	require.NotZero(t, classesOf(t, "Kx").Active())
}

func classesOf(t *testing.T, text string) values.Class {
	c, ok := values.ParseClasses(text)
	require.True(t, ok)
	return c
}

// expiring is a store whose hash "h" has a field that has expired, or more of them, and
// which no command has met since.
func expiring(t *testing.T, fields ...string) *store {
	s := newStore(t, 1)
	s.words("HSET h stays 1 text x")
	for _, field := range fields {
		s.words("HSET h " + field + " 1")
		s.words("HPEXPIRE h 100 FIELDS 1 " + field)
	}
	s.now += 100
	s.entries["h"].Changed = false
	return s
}

// meet runs a command line over entries as they are, and returns the events that it names.
func (s *store) meet(line string, notified bool) (events []string) {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		args = append(args, []byte(word))
	}
	cmd := s.commands[strings.ToLower(string(args[0]))]
	call := &values.Call{Args: args, Keys: s, Now: s.now, Rand: s.rand, Reply: &reply{}, ReadOnly: !cmd.Writes()}
	if notified {
		call.Notify = func(_ values.Class, event string, key []byte) { events = append(events, event+" "+string(key)) }
	}
	_ = cmd.Run(call) // refused or not: what has expired has expired
	return events
}

// A command that may write names that fields have expired, once, and has the hash stored
// without them. One that only reads leaves both to the next.
func TestEventsOfExpiredFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expired []string
		line    string
		events  []string
	}{
		{[]string{"f"}, "HSET h stays 2", []string{"hexpired h", "hset h"}},
		{[]string{"f", "g"}, "HSET h f 2", []string{"hexpired h", "hset h"}},
		{[]string{"f"}, "HDEL h f", []string{"hexpired h"}},
		{[]string{"f"}, "HINCRBY h text 1", []string{"hexpired h"}},
		{[]string{"f"}, "LPUSH h x", []string{"hexpired h"}},
		{[]string{"f"}, "HPERSIST h FIELDS 1 f", []string{"hexpired h"}},
		{[]string{"f", "stays", "text"}, "HDEL h f", []string{"hexpired h", "del h"}},
		{[]string{"f", "stays", "text"}, "HSET h f 2", []string{"hexpired h", "del h", "new h", "hset h"}},
		{[]string{"f", "stays", "text"}, "LPUSH h x", []string{"hexpired h", "del h", "new h", "lpush h"}},
		{[]string{"f", "stays", "text"}, "DEL h", []string{"hexpired h", "del h"}},
		{nil, "HDEL h f", nil},
	} {
		s := expiring(t, c.expired...)
		h := s.entries["h"]
		s.meet("HGETALL h", true)
		require.False(t, h.Changed, "a read")
		require.Equal(t, c.events, s.meet(c.line, true), c.line)
		require.Equal(t, len(c.expired) > 0, h.Changed, c.line)
		h.Changed = false
		require.NotContains(t, s.meet("HDEL h none", true), "hexpired h", c.line)
		require.False(t, h.Changed, "%s: an event comes once", c.line)

		s = expiring(t, c.expired...)
		s.meet("HDEL h none", false)
		require.False(t, s.entries["h"].Changed, "without events")
	}
}

// What a command before it has removed stays removed, though RESTORE leaves nothing.
func TestRestoreBehindARemoval(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	s.words("SET k v")
	payload := []byte(values.Dump(s.entries["k"].Value))
	s.words("DEL k")
	require.True(t, s.entries["k"].Changed)
	err := s.commands["restore"].Run(&values.Call{Args: [][]byte{nil, []byte("k"), []byte("1"), payload, []byte("ABSTTL")}, Keys: s, Now: s.now, Reply: &reply{}})
	require.NoError(t, err)
	require.Nil(t, s.entries["k"].Value)
	require.True(t, s.entries["k"].Changed)
}
