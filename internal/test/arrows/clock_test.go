package arrows_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Tests wait for what they want to see, and never for time: a pause is too long on a fast machine and too short
// on a busy one, and a test that fails because it was slow says nothing of the product.
func TestClock(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	_, files := readModule(t, root)
	var found []timing
	for _, f := range files {
		if !f.test() && !house[f.room()].testOnly {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		here, err := timings(f.path, string(text))
		require.NoError(t, err)
		found = append(found, here...)
	}
	for _, sentence := range checkTimings(found, timedOnPurpose) {
		t.Error(sentence)
	}
}

// timedOnPurpose lists the files that sleep, or compare the time that has passed, and why.
var timedOnPurpose = map[string]string{
	"internal/bus/bench_test.go":                      "a benchmark publishes at a given rate",
	"internal/bus/failure_test.go":                    "a pool is busy for longer than a notification of a real PostgreSQL may take",
	"internal/coalesce/bench_test.go":                 "a benchmark of flights that keep no processor busy",
	"internal/coalesce/model_test.go":                 "random pauses vary what goroutines do at the same time, in real time; any of it will do",
	"internal/core/fetch_processes_test.go":           "how long a load takes in a process of its own, which gets the time as an order",
	"internal/core/fetch_race_test.go":                "random pauses vary what processes do at the same time; any of it will do",
	"internal/core/fetch_wait_test.go":                "it measures how late a caller learns of the end of a load, and asserts nothing of that",
	"internal/edit/edit_test.go":                      "a function runs for longer than the timeout of its edit, which the real engine measures",
	"internal/edit/waiter_bench_test.go":              "a benchmark measures what waiters cost in a second",
	"internal/test/bubble/bubble.go":                  "this is Pass, which panics outside of a bubble",
	"internal/test/coherence/clients_unix_test.go":    "it measures for how long the machine keeps processes from running, and allows for that",
	"internal/test/coherence/install_clients_test.go": "a registry of packages that does not answer is asked again later",
	"internal/test/coherence/run_unix_test.go":        "a run lasts as long as it is told, as its faults are spread over it",
	"internal/test/coherence/slow_unix_test.go":       "the delays of a slow network",
	"schema/log_held_test.go":                         "writes at a real rate, where -log.held asks for them",
}

// timing is a place where a test depends on the speed of its machine.
type timing struct {
	path   string
	line   int
	advice string
}

// What to do instead.
const (
	doNotSleep   = "it sleeps; await a signal or a condition (internal/test/await), or let time pass in a bubble (internal/test/bubble)"
	doNotMeasure = "it fails if the machine is slow; assert what must have happened, or use bubble.Since where time stands still"
	doNotHurry   = "a busy machine may need longer than this; give the condition at least a minute"
	doNotLinger  = "that something has not happened yet proves nothing; await a signal after which it cannot happen any more"
)

// timings returns the places of one file that depend on the speed of the machine, as far as syntax tells.
func timings(p, text string) (found []timing, err error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, p, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(n ast.Node, advice string) {
		if advice != "" {
			found = append(found, timing{p, set.Position(n.Pos()).Line, advice})
		}
	}
	cases := map[ast.Stmt]bool{} // a receive that is a case of select may lose against another one
	for _, declaration := range syntax.Decls {
		durations := measured(declaration)
		ast.Inspect(declaration, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CommClause:
				cases[n.Comm] = true
			case *ast.ExprStmt:
				if receive, ok := n.X.(*ast.UnaryExpr); ok && !cases[n] && receive.Op == token.ARROW && isCall(receive.X, "time", "After") {
					add(n, doNotSleep)
				}
			case *ast.SelectorExpr:
				if isSelector(n, "time", "Sleep") {
					add(n, doNotSleep)
				}
			case *ast.CallExpr:
				add(n, durations.assertion(n))
			case *ast.IfStmt:
				if durations.bounds(n.Cond, true) && fails(n.Body) {
					add(n, doNotMeasure)
				}
			}
			return true
		})
	}
	return found, nil
}

// durations are the variables of a function that hold a time which has passed.
type durations map[string]bool

func measured(declaration ast.Decl) durations {
	names := durations{}
	ast.Inspect(declaration, func(n ast.Node) bool {
		if n, ok := n.(*ast.AssignStmt); ok && len(n.Lhs) == 1 && len(n.Rhs) == 1 && names.isMeasured(n.Rhs[0]) {
			if name, ok := n.Lhs[0].(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// isMeasured says whether an expression is a time that has passed, or made from one by a method, such as
// Milliseconds, or by arithmetic.
func (d durations) isMeasured(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return d[e.Name]
	case *ast.ParenExpr:
		return d.isMeasured(e.X)
	case *ast.BinaryExpr:
		return d.isMeasured(e.X) || d.isMeasured(e.Y)
	case *ast.CallExpr:
		if isCall(e, "time", "Since") {
			return true
		}
		if method, ok := e.Fun.(*ast.SelectorExpr); ok {
			return method.Sel.Name == "Sub" && isCall(method.X, "time", "Now") || d.isMeasured(method.X)
		}
		return len(e.Args) == 1 && d.isMeasured(e.Args[0]) // a conversion
	}
	return false
}

// assertion says what is wrong with a call of testify, "" if nothing is.
func (d durations) assertion(call *ast.CallExpr) string {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := function.X.(*ast.Ident)
	if !ok || of.Name != "require" && of.Name != "assert" {
		return ""
	}
	measured := func(i int) bool { return len(call.Args) > i && d.isMeasured(call.Args[i]) }
	bad := false
	switch strings.TrimSuffix(function.Sel.Name, "f") {
	case "Never":
		return doNotLinger
	case "Eventually", "EventuallyWithT":
		if limit, known := constant(call.Args[2]); known && limit < time.Minute {
			return doNotHurry
		}
	case "Less", "LessOrEqual", "Zero":
		bad = measured(1)
	case "Greater", "GreaterOrEqual":
		bad = measured(2)
	case "Equal", "InDelta", "InEpsilon":
		bad = measured(1) || measured(2)
	case "True":
		bad = d.bounds(call.Args[1], false)
	case "False":
		bad = d.bounds(call.Args[1], true)
	}
	if bad {
		return doNotMeasure
	}
	return ""
}

// bounds says whether a condition compares a time that has passed with what it may be at most: whether it is more
// if over, otherwise whether it is not.
func (d durations) bounds(condition ast.Expr, over bool) (found bool) {
	ast.Inspect(condition, func(n ast.Node) bool {
		c, ok := n.(*ast.BinaryExpr)
		if !ok {
			return true
		}
		larger := c.Op == token.GTR || c.Op == token.GEQ
		smaller := c.Op == token.LSS || c.Op == token.LEQ
		if !over {
			larger, smaller = smaller, larger
		}
		found = found || larger && d.isMeasured(c.X) || smaller && d.isMeasured(c.Y)
		return true
	})
	return found
}

// fails says whether statements end or fail a test.
func fails(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok {
			switch n.Sel.Name {
			case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "Failf", "FailNow":
				found = true
			}
		}
		return true
	})
	return found
}

func isCall(e ast.Expr, of, name string) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && isSelector(call.Fun, of, name)
}

func isSelector(e ast.Expr, of, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == of
}

// constant is what a duration such as 10*time.Second is.
func constant(e ast.Expr) (d time.Duration, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		for name, unit := range map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute} {
			if isSelector(e, "time", name) {
				return unit, true
			}
		}
	case *ast.BinaryExpr:
		x, knownX := constant(e.X)
		y, knownY := constant(e.Y)
		return x * y, e.Op == token.MUL && knownX && knownY
	}
	return 0, false
}

// checkTimings returns a sentence for every place that is not excepted, and for every exception without one.
func checkTimings(found []timing, onPurpose map[string]string) (broken []string) {
	has := map[string]bool{}
	for _, f := range found {
		has[f.path] = true
		if onPurpose[f.path] == "" {
			broken = append(broken, fmt.Sprintf("%s:%d: %s; or enter the file in timedOnPurpose of internal/test/arrows/clock_test.go with the reason",
				f.path, f.line, f.advice))
		}
	}
	for p := range onPurpose {
		if !has[p] {
			broken = append(broken, fmt.Sprintf("%s: it does not depend on time any more; remove it from timedOnPurpose of internal/test/arrows/clock_test.go", p))
		}
	}
	slices.Sort(broken)
	return broken
}
