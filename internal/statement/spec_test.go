package statement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Of sets that wait for one key only the last is sent, and all get its result.
// That is right only for those that depend on nothing that was there before, and
// answer nothing of it.
func TestOnlyPlainSetsMerge(t *testing.T) {
	t.Parallel()
	kind := func(c *verb.Call) coalesce.Kind {
		c.Key = []byte("k")
		require.NoError(t, statement.Prepare(c, 100))
		return c.Op.Kind
	}
	require.Equal(t, coalesce.Set, kind(&verb.Call{Verb: statement.Set}))
	for name, c := range map[string]*verb.Call{
		"keeps the TTL":     {Verb: statement.Set, Expiry: verb.KeepExpiry()},
		"wants the old":     {Verb: statement.Set, WantOld: true},
		"wants the version": {Verb: statement.Set, WantVersion: true},
		"if absent":         {Verb: statement.Set, Condition: verb.IfAbsent},
		"if present":        {Verb: statement.Set, Condition: verb.IfPresent},
		"of a version":      {Verb: statement.Set, Condition: verb.IfVersion, IfVersion: 1},
		"increment":         {Verb: statement.Increment, Delta: 1},
		"append":            {Verb: statement.Append},
		"delete":            {Verb: statement.Delete},
	} {
		require.Equal(t, coalesce.Write, kind(c), name)
	}
	require.Equal(t, coalesce.Read, kind(&verb.Call{Verb: statement.Get}))
}

// What everybody reads of a verb is what its name says.
func TestVerbs(t *testing.T) {
	t.Parallel()
	byName := map[string]*verb.Verb{}
	for i, v := range statement.Verbs() {
		require.EqualValues(t, i, v.Index, v.Name)
		require.Nil(t, byName[v.Name], v.Name)
		require.False(t, v.Room && !v.Writes, v.Name)
		require.False(t, v.Values && !v.Many, v.Name)
		byName[v.Name] = v
	}
	for _, name := range []string{"get", "get_entry", "stat", "get_many", "stat_many"} {
		require.False(t, byName[name].Writes, name)
	}
	// A full cache refuses what may add bytes, and nothing else.
	for _, v := range statement.Verbs() {
		switch v.Name {
		case "set", "set_many", "set_many_if_absent", "fulfil", "increment", "increment_float", "append", "set_range", "commit":
			require.True(t, v.Room, v.Name)
		default:
			require.False(t, v.Room, v.Name)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []*verb.Call{
		{},
		{Verb: statement.Get, Keys: [][]byte{nil}},
		{Verb: statement.GetMany, Key: []byte("k")},
		{Verb: statement.SetMany, Keys: [][]byte{nil}},
		{Verb: statement.SetRange, Offset: -1},
	} {
		require.Error(t, statement.Prepare(c, 100))
	}
	require.ErrorIs(t, statement.Prepare(&verb.Call{Verb: statement.Get, Key: make([]byte, verb.MaxKeyBytes+1)}, 100), fault.ErrKeyTooLong)
	require.ErrorIs(t, statement.Prepare(&verb.Call{Verb: statement.Set, Value: make([]byte, 101)}, 100), fault.ErrValueTooLarge)
	require.ErrorIs(t, statement.Prepare(&verb.Call{Verb: statement.SetRange, Value: []byte("x"), Offset: 100}, 100), fault.ErrValueTooLarge)
	for _, delta := range []string{"", "NaN", "inf", "1e99999", "0x1p4", "1,5", " 1"} {
		require.ErrorIs(t, statement.Prepare(&verb.Call{Verb: statement.IncrementFloat, DeltaFloat: delta}, 100), fault.ErrNotFloat, delta)
	}
}
