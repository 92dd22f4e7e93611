package handover

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const second = time.Second

// story is a ledger and a census, told in seconds.
type story struct {
	Ledger
	census Census
}

func (s *story) push(at time.Duration, outcome Outcome, elements ...string) *story {
	s.Push(Push{Key: "queue", Elements: elements, Began: at * second, Ended: at*second + second/2, Outcome: outcome})
	return s
}

// wait adds a wait that was in line half a second after it began.
func (s *story) wait(from, to time.Duration, outcome Outcome, element string) *story {
	return s.waitOn("a", "", from, to, outcome, element)
}

func (s *story) waitOn(server, destination string, from, to time.Duration, outcome Outcome, element string) *story {
	s.Wait(Wait{
		Server: server, Keys: []string{"queue"}, To: destination, Began: from * second, Ended: to * second, InLine: from*second + second/2,
		Deadline: (from + 100) * second, Outcome: outcome, Key: "queue", Element: element,
	})
	return s
}

func (s *story) remove(element string, outcome Outcome, found bool) *story {
	s.Remove(Removal{element, outcome, found})
	return s
}

func (s *story) holds(key string, elements ...string) *story {
	if s.census == nil {
		s.census = make(Census)
	}
	s.census[key] = elements
	return s
}

func TestRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *story
		rules []Rule
	}{
		"delivered":                         {new(story).push(1, Done, "x").wait(0, 2, Done, "x"), nil},
		"still there":                       {new(story).push(1, Done, "x").holds("queue", "x"), nil},
		"delivered twice":                   {new(story).push(1, Done, "x").wait(0, 2, Done, "x").wait(3, 4, Done, "x"), []Rule{Twice}},
		"delivered and there":               {new(story).push(1, Done, "x").wait(0, 2, Done, "x").holds("queue", "x"), []Rule{Twice}},
		"there twice":                       {new(story).push(1, Done, "x").holds("queue", "x", "x"), []Rule{Twice}},
		"lost":                              {new(story).push(1, Done, "x").wait(0, 2, Empty, ""), []Rule{Lost}},
		"lost with its connection":          {new(story).push(1, Done, "x").wait(0, 2, Unknown, ""), nil},
		"lost after the connection ended":   {new(story).push(9, Done, "x").wait(0, 2, Unknown, ""), []Rule{Lost}},
		"lost before the wait began":        {new(story).push(1, Done, "x").push(3, Done, "y").wait(0, 4, Done, "y").wait(5, 6, Unknown, ""), []Rule{Lost}},
		"lost while others were served":     {new(story).push(1, Done, "x").push(3, Done, "y").wait(0, 4, Done, "y").wait(2, 6, Unknown, ""), nil},
		"two lost with one connection":      {new(story).push(1, Done, "x", "y").wait(0, 2, Unknown, ""), []Rule{Lost}},
		"an unknown push that left nothing": {new(story).push(1, Unknown, "x"), nil},
		"an unknown push that was done":     {new(story).push(1, Unknown, "x").wait(0, 2, Done, "x"), nil},
		"a refused push that was done":      {new(story).push(1, Refused, "x").wait(0, 2, Done, "x"), []Rule{Ghost}},
		"delivered and never pushed":        {new(story).wait(0, 2, Done, "x"), []Rule{Ghost}},
		"moved and removed":                 {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x").remove("x", Done, true), nil},
		"moved and there":                   {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x").holds("work", "x"), nil},
		"moved, perhaps removed":            {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x").remove("x", Unknown, false), nil},
		"moved to nowhere":                  {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x"), []Rule{Moved}},
		"moved and not found":               {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x").remove("x", Done, false).holds("work", "x"), []Rule{Moved}},
		"moved to another list":             {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Done, "x").holds("queue", "x"), []Rule{Moved}},
		"a move loses none":                 {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Unknown, ""), []Rule{Lost}},
		"a move without an answer":          {new(story).push(1, Done, "x").waitOn("a", "work", 0, 2, Unknown, "").holds("work", "x"), nil},
		"in order":                          {new(story).push(4, Done, "x").push(5, Done, "y").wait(0, 6, Done, "x").wait(2, 6, Done, "y"), nil},
		"out of order":                      {new(story).push(4, Done, "x").push(5, Done, "y").wait(0, 6, Done, "y").wait(2, 6, Done, "x"), []Rule{Order}},
		"out of order by one push":          {new(story).push(4, Done, "x", "y").wait(0, 6, Done, "y").wait(2, 6, Done, "x"), []Rule{Order}},
		"out of order on two servers":       {new(story).push(4, Done, "x").push(5, Done, "y").wait(0, 6, Done, "y").waitOn("b", "", 2, 6, Done, "x"), nil},
		"one who came after the push":       {new(story).push(1, Done, "x").push(5, Done, "y").wait(0, 6, Done, "y").wait(2, 6, Done, "x"), nil},
		"passed over to the end":            {new(story).push(4, Done, "x").wait(0, 100, Empty, "").wait(2, 6, Done, "x"), []Rule{Order}},
	} {
		v := test.story.Judge(test.story.census)
		var rules []Rule
		for rule := range v.Broken {
			rules = append(rules, rule)
		}
		slices.Sort(rules)
		require.Equal(t, test.rules, rules, "%s: %v", name, v.Broken)
	}
}

// A lost element may need the wait that another could have had.
func TestExcusesAreShared(t *testing.T) {
	t.Parallel()
	s := new(story).push(1, Done, "x").push(9, Done, "y").wait(0, 2, Unknown, "").wait(0, 10, Unknown, "")
	v := s.Judge(nil)
	require.Zero(t, v.Violations(), v.Broken)
	require.Equal(t, 2, v.Excused)
}
