// Package statement says how each verb is told to PostgreSQL: one Spec per verb,
// which names its SQL file in schema/statements, writes the parameters and reads
// the answer. Everything else that differs between verbs (who may be refused,
// what may share a statement, what is counted) is a field of the Spec too.
//
// To add a verb: write its SQL file, and a Go file here that defines its Spec.
package statement

import (
	"slices"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// Spec is all there is to know of a verb.
type Spec struct {
	verb.Verb

	// Form runs the verb. Where it depends on the call or the cache, Pick chooses.
	Form *Form
	Pick func(*verb.Call, *Table) *Form

	// Merges reports that the call does not depend on what it overwrites:
	// of those that wait for one key, only the last is sent. nil: never.
	Merges func(*verb.Call) bool

	// Echoes reports, of a call that Merges, that what it leaves under the key is
	// its Value, if it succeeds; and of a read that it asks for the value alone. So
	// such a set answers such a read that waits for it. nil: never.
	Echoes func(*verb.Call) bool

	// Holds reports that the places of the call's keys are held, those of absent
	// keys too, from before its statement until the end of the transaction. Outside
	// of a transaction of the caller its Form is Alone. nil: never.
	Holds func(*verb.Call) bool

	// Check returns what is wrong with arguments that only this verb has.
	Check func(*verb.Call) error

	// Locked gives a call its outcome when another transaction has held its row
	// for long. nil: the call waits until its deadline.
	Locked func(*verb.Call)
}

// Form is one statement: a file of schema/statements, its parameters and its
// answer.
type Form struct {
	File   string // without its ending
	Alone  bool   // it serves exactly one call
	Single *Form  // does the same for a request of one row; nil: none does
	Near   bool   // its answer has all that memory must know of an entry
	Unused bool   // being found by it does not count as a use of the entry

	// Params writes the parameters of a request whose rows are sorted.
	Params func(*Request) [][]byte
	// Start gives a call the outcome that it has if no row comes.
	Start func(*Request, *verb.Call)
	// Row reads one row of the answer.
	Row func(*Request, [][]byte)
	// End reads that there are no more rows. nil: nothing is to be done.
	End func(*Request)

	// RaceState is the SQLSTATE by which the statement says that it lost a race
	// without effect, and is to be run again. "": it does not.
	RaceState string

	index int // its place among all forms
}

// LostRace reports whether a refusal says that the statement lost a race without
// effect.
func (f *Form) LostRace(refusal error) bool {
	return f.RaceState != "" && fault.State(refusal) == f.RaceState
}

// The tables of all verbs and forms, in the order of their definitions. They do
// not change once the program runs.
var (
	specs []*Spec
	forms []*Form
)

// define enters a verb into the table.
func define(s Spec) *verb.Verb {
	s.Index = uint8(len(specs))
	specs = append(specs, &s)
	return &s.Verb
}

// form enters a statement into the table.
func form(f Form) *Form {
	f.index = len(forms)
	forms = append(forms, &f)
	return &f
}

// Of returns the Spec of a verb.
func Of(v *verb.Verb) *Spec { return specs[v.Index] }

// Verbs returns all verbs, in the order of their Index.
func Verbs() []*verb.Verb {
	all := make([]*verb.Verb, len(specs))
	for i, s := range specs {
		all[i] = &s.Verb
	}
	return all
}

// OnlyReads reports whether the verb of that name changes nothing. A claim is asked for a
// value, as a read is.
func OnlyReads(name string) bool {
	for _, s := range specs {
		if s.Name == name {
			return !s.Writes || &s.Verb == Claim
		}
	}
	return false
}

// Files returns the names of all files of schema/statements that verbs use.
func Files() []string {
	var all []string
	for _, f := range forms {
		all = append(all, f.File)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearClass sets gets with Near apart from others: merged with those, they would
// learn no more than they do.
const nearClass = 1 << 7

// anyKindClass sets reads of any kind apart from those that take strings alone, which
// have another outcome.
const anyKindClass = 1 << 6

// Prepare checks a call's arguments and gives it its place among others, but for
// its keys. Errors: what Call.Check and the verb's own check return.
func Prepare(c *verb.Call, maxValue int) error {
	if err := c.Check(maxValue); err != nil {
		return err
	}
	s := Of(c.Verb)
	if s.Check != nil {
		if err := s.Check(c); err != nil {
			return err
		}
	}
	c.Limit, c.Repeat = int64(maxValue), false
	c.Op.Call, c.Op.Class = c, s.Index
	c.Op.Echo, c.Stored = s.Echoes != nil && s.Echoes(c), nil
	if c.Near {
		c.Op.Class |= nearClass
	}
	if c.AnyKind {
		c.Op.Class |= anyKindClass
	}
	switch {
	case !s.Writes:
		c.Op.Kind = coalesce.Read
	case s.Merges != nil && s.Merges(c):
		c.Op.Kind = coalesce.Set
	default:
		c.Op.Kind = coalesce.Write
	}
	return nil
}

// FormOf returns the statement that runs a call.
func FormOf(c *verb.Call, t *Table) *Form {
	s := Of(c.Verb)
	if s.Pick != nil {
		return s.Pick(c, t)
	}
	return s.Form
}
