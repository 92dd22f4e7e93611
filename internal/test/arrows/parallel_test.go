package arrows_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Most tests wait more than they work: for PostgreSQL, for a deadline, for another
// process. So each test at the top of a file calls t.Parallel in its first statements,
// unless serial says why it cannot.
func TestTestsAreParallel(t *testing.T) {
	t.Parallel()
	_, files := readModule(t, filepath.Join("..", "..", ".."))
	for _, sentence := range checkParallel(serial, files) {
		t.Error(sentence)
	}
}

// early is in how many statements of a test t.Parallel must come: before it there is
// room for a Skip, and for what must be there before all tests.
const early = 3

// checkParallel returns a sentence for every test that is neither parallel nor in the
// list of exceptions, and for every exception that is none any more.
func checkParallel(serial map[string]string, files []file) (broken []string) {
	used := map[string]bool{}
	for _, f := range files {
		for _, test := range f.serial {
			name := f.room() + " " + test
			switch {
			case serial[f.room()] != "":
				used[f.room()] = true
			case serial[name] != "":
				used[name] = true
			default:
				broken = append(broken, fmt.Sprintf("%s: %s does not begin with t.Parallel(); if it cannot, "+
					"say why in the table serial in internal/test/arrows/serial_test.go", f.path, test))
			}
		}
	}
	for name := range maps.Keys(serial) {
		if !used[name] {
			broken = append(broken, fmt.Sprintf("%s: the table serial names it, but it is parallel or not there; take it out", name))
		}
	}
	slices.Sort(broken)
	return broken
}

// isSerialTest tells whether a function is a test that does not begin with a call of Parallel.
func isSerialTest(f *ast.FuncDecl) bool {
	rest, test := strings.CutPrefix(f.Name.Name, "Test")
	if !test || f.Recv != nil || f.Body == nil || (rest != "" && rest[0] >= 'a' && rest[0] <= 'z') || !takesT(f) {
		return false
	}
	for _, statement := range f.Body.List[:min(early, len(f.Body.List))] {
		if x, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := x.X.(*ast.CallExpr); ok {
				if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Parallel" {
					return false
				}
			}
		}
	}
	return true
}

// takesT tells whether the only parameter of a function is a *testing.T.
func takesT(f *ast.FuncDecl) bool {
	parameters := f.Type.Params.List
	if len(parameters) != 1 {
		return false
	}
	pointer, ok := parameters[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := pointer.X.(*ast.SelectorExpr)
	return ok && name.Sel.Name == "T"
}
