package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An entry with a tag goes with the tag; others stay.
func TestInvalidateTag(t *testing.T) {
	db := open(t)
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{x,y}'), howdah.set_tagged('c', 'b', '1', '{y}'), howdah.set('c', 'u', '1')")
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('c', 'x')"))
	require.Equal(t, []string{"b", "u"}, all[string](t, db, "SELECT k FROM unnest('{a,b,u}'::text[]) AS k WHERE howdah.get_text('c', k) IS NOT NULL"))
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.invalidate_tag('s', 'y')"), "another cache")
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tags('c', '{y,x,none}')"))
	require.Equal(t, 1, one[int](t, db, "SELECT howdah.count('c')"))
}
