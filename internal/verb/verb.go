// Package verb holds what every door to a cache speaks: a Call with its
// arguments and results, and the words in them. What PostgreSQL is told for each
// verb is in package statement.
package verb

// Verb is what a Call does to its key or keys, and what everybody has to know of
// it who does not run it. Package statement defines them all.
type Verb struct {
	Name    string // as in metrics: "get"
	Writes  bool   // it may change data
	Quiet   bool   // it writes nothing that a reader of values sees: leases only
	Many    bool   // it takes Call.Keys, not Call.Key
	Values  bool   // it takes Call.Values, one for each of Call.Keys
	Room    bool   // a full cache refuses it, as Redis does, even where it would replace something
	Removes bool   // it removes rows, expired ones too, and answers which: see Call.Gone
	Whole   bool   // it is one step for all of its keys, which must be of one partition
	Ends    bool   // it may end entries, which is remembered: see package observe
	Index   uint8  // its place among all verbs
}

// Changes reports whether it may change what a reader of values sees.
func (v *Verb) Changes() bool { return v.Writes && !v.Quiet }

// String returns the name.
func (v *Verb) String() string {
	if v == nil {
		return "unknown"
	}
	return v.Name
}
