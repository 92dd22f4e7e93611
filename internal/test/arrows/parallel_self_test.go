package arrows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rule of parallel tests, applied to made-up files: it must be able to fail.
func TestSerialTestsAreFound(t *testing.T) {
	t.Parallel()
	f, err := read("a/a_test.go", `package a
func TestParallel(t *testing.T) { t.Parallel() }
func TestSkips(t *testing.T) {
	if x { t.Skip() }
	t.Parallel()
}
func TestSerial(t *testing.T) { run() }
func TestLate(t *testing.T) {
	one()
	two()
	three()
	t.Parallel()
}
func TestOfASubtest(t *testing.T) { t.Run("a", func(t *testing.T) { t.Parallel() }) }
func TestMain(m *testing.M) {}
func Testimony(t *testing.T) {}
func testHelper(t *testing.T) {}
func TestingWith(t *testing.T, n int) {}
func (s suite) TestMethod(t *testing.T) {}
`)
	require.NoError(t, err)
	require.Equal(t, []string{"TestSerial", "TestLate", "TestOfASubtest"}, f.serial)
	product, err := read("a/a.go", "package a\nfunc TestSerial(t *testing.T) {}\n")
	require.NoError(t, err)
	require.Empty(t, product.serial)

	const stale = ": the table serial names it, but it is parallel or not there; take it out"
	files := []file{{path: "a/a_test.go", serial: []string{"TestSerial"}}}
	require.Equal(t, []string{"a/a_test.go: TestSerial does not begin with t.Parallel(); if it cannot, " +
		"say why in the table serial in internal/test/arrows/serial_test.go"}, checkParallel(nil, files))
	require.Empty(t, checkParallel(map[string]string{"a TestSerial": "sets the environment"}, files))
	require.Empty(t, checkParallel(map[string]string{"a": "measures allocations"}, files))
	require.Equal(t, []string{"a TestOther" + stale, "b" + stale},
		checkParallel(map[string]string{"a": "measures", "a TestOther": "gone", "b": "is parallel"}, files))
}
