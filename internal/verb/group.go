package verb

import "fmt"

// Edit is what a commit does with one of its keys.
type Edit struct {
	// Version is what the key was read with, 0 if it was absent. The commit fails
	// if the key has another one.
	Version int64
	// Absent says that Version is not of an entry but of the row of an absent key,
	// as Watch answers it: the commit fails also if the key was stored and removed
	// again since.
	Absent bool
	Act    Act
	Kind   int16  // Put: what Value holds, 0: a string
	Expiry Expiry // Put; Keep: as the entry that was read
}

// Act is what an Edit does.
type Act uint8

// The acts.
const (
	OnlyRead Act = iota // the key must still be as it was read
	Put                 // stores the value of the key
	Remove              // deletes the key; of an absent key as OnlyRead
)

// Changes reports whether the edit changes its key.
func (e *Edit) Changes() bool {
	return e.Act == Put || e.Act == Remove && e.Version > 0 && !e.Absent
}

// isAbsent reports that nothing is known of the row of an absent key.
func (e *Edit) isAbsent() bool { return e.Version == 0 }

// Rows returns how many rows the call may add, which a full cache refuses.
func (c *Call) Rows() int {
	switch {
	case !c.Verb.Room, c.NoRoom:
		return 0
	case c.Group == nil:
		return len(c.Op.Keys)
	}
	n := 0
	for i := range c.Group {
		if c.Group[i].Act == Put {
			n++
		}
	}
	return n
}

// Changed returns the hashes of the keys that the call may change.
func (c *Call) Changed() []uint64 {
	if c.Group == nil {
		return c.Op.Keys
	}
	changed := make([]uint64, 0, len(c.Group))
	for i := range c.Group {
		if c.Group[i].Changes() {
			changed = append(changed, c.Op.Keys[i])
		}
	}
	return changed
}

// MeetsAbsent reports whether a key of the group was absent, and its row is not known.
func (c *Call) MeetsAbsent() bool {
	for i := range c.Group {
		if c.Group[i].isAbsent() {
			return true
		}
	}
	return false
}

// CheckGroup returns what is wrong with the edits of a commit.
func (c *Call) CheckGroup() error {
	if len(c.Group) != len(c.Keys) {
		return fmt.Errorf("howdah: %d edits for %d keys", len(c.Group), len(c.Keys))
	}
	for i := range c.Group {
		if e := &c.Group[i]; e.Version < 0 || e.Absent && e.Version == 0 || e.Act > Remove {
			return fmt.Errorf("howdah: no edit: %+v", *e)
		}
	}
	return nil
}
