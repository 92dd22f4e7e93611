package schema_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Budgets count what a row and its index entry take beside key and value. The
// constant is the same in each text, and close to what PostgreSQL needs.
func TestOverheadOfARow(t *testing.T) {
	t.Parallel()
	const overhead = 100
	for _, file := range []string{"functions/_maintain.sql", "functions/_sample.sql", "queries/stat_sample.sql"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		counted := regexp.MustCompile(`octet_length\([a-z.]*value\) \+ (\d+)`).FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, counted, file)
		for _, c := range counted {
			require.Equal(t, strconv.Itoa(overhead), c[1], file)
		}
	}

	const linePointer, indexEntry, alignment = 4, 8 + 8 + 4, 8
	db := open(t)
	for _, size := range []int{0, 100, 250, 1000} {
		key, value := strings.Repeat("k", 20), make([]byte, size)
		run(t, db, "SELECT howdah.set('c', $1, $2)", []byte(key), value)
		row := one[int](t, db, "SELECT pg_column_size(c.*) FROM "+table(t, db, "c")+" AS c")
		row = (row+alignment-1)/alignment*alignment + linePointer
		t.Logf("value of %d bytes: %d", size, row+indexEntry-len(key)-size)
		require.InDelta(t, overhead, row+indexEntry-len(key)-size, alignment, "a value of %d bytes", size)
	}
}
