package arrows_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// file is what the rules need to know of one Go file.
type file struct {
	path    string   // inside the module, such as "internal/resp/parse.go"
	imports []string // import paths
	inits   int      // functions named init
	long    []string // functions of more lines than longestFunction
	serial  []string // tests that do not begin with t.Parallel
	env     []string // calls that read the environment, such as "os.Getenv"
}

func (f file) room() string { return path.Dir(f.path) }
func (f file) test() bool   { return strings.HasSuffix(f.path, "_test.go") }

// check returns a sentence for every rule that the files break.
func check(module string, house map[string]room, files []file) (broken []string) {
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	unknown := map[string]bool{}
	for _, f := range files {
		if name := drawer(f.path); name != "" {
			say("%s: %q says nothing about what is inside; name it after its subject", f.path, name)
		}
		if f.inits > 0 {
			say("%s: func init runs behind the caller's back; make it a function that is called", f.path)
		}
		for _, name := range f.long {
			if !f.test() {
				say("%s: %s has more than %d lines; split it, so that it can be read in one look", f.path, name, longestFunction)
			}
		}
		if !mayReadEnvironment(f) {
			for _, call := range f.env {
				say("%s: %s reads the environment; take the value as a parameter, only programs under cmd read the environment", f.path, call)
			}
		}
		from, known := house[f.room()]
		if !known {
			if !unknown[f.room()] {
				say("%s: this folder is on no floor; add it to the table house in internal/test/arrows/house_test.go", f.room())
			}
			unknown[f.room()] = true
			continue
		}
		for _, target := range f.imports {
			if sentence := checkImport(module, house, f, from, target); sentence != "" {
				say("%s", sentence)
			}
		}
	}
	slices.Sort(broken)
	return broken
}

func checkImport(module string, house map[string]room, f file, from room, target string) string {
	ours := target == module || strings.HasPrefix(target, module+"/")
	if !ours {
		if from.stdlib && !f.test() && strings.Contains(strings.Split(target, "/")[0], ".") {
			return fmt.Sprintf("%s imports %s; %s uses the standard library only", f.path, target, f.room())
		}
		if from.door && !f.test() && strings.HasPrefix(target, "github.com/jackc/pgx/") {
			return fmt.Sprintf("%s imports %s; a door asks core, and knows no driver of PostgreSQL", f.path, target)
		}
		return ""
	}
	name := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
	if name == "" {
		name = "."
	}
	if name == f.room() {
		return "" // an external test package and its subject
	}
	to, known := house[name]
	switch {
	case from.public && !f.test() && strings.Contains("/"+name+"/", "/internal/"):
		return fmt.Sprintf("%s imports %s; nobody could copy %s, which is there to be copied", f.path, name, f.room())
	case !known:
		return fmt.Sprintf("%s imports %s, which is on no floor; add it to the table house in internal/test/arrows/house_test.go", f.path, name)
	case to.testOnly:
		if f.test() || from.testOnly {
			return ""
		}
		return fmt.Sprintf("%s imports %s, which is for tests only; import it from _test.go files", f.path, name)
	case f.test() && slices.Contains(from.tests, name):
		return ""
	case to.leaf && (f.test() || !from.leaf):
		return ""
	case from.testOnly:
		return ""
	case from.leaf:
		return fmt.Sprintf("%s imports %s; %s is a leaf and imports nothing of this module", f.path, name, f.room())
	case to.floor == from.floor:
		return fmt.Sprintf("%s imports %s; both are on %v, and rooms of one floor do not know each other", f.path, name, to.floor)
	case to.floor > from.floor:
		return fmt.Sprintf("%s imports %s; the arrow points up, from %v to %v", f.path, name, from.floor, to.floor)
	}
	return ""
}

func drawer(p string) string {
	for part := range strings.SplitSeq(strings.TrimSuffix(p, ".go"), "/") {
		if stem := strings.TrimSuffix(part, "_test"); drawers[stem] {
			return part
		}
	}
	return ""
}

func mayReadEnvironment(f file) bool {
	return f.test() || environment[f.path] ||
		strings.HasPrefix(f.path, "cmd/") || strings.HasPrefix(f.path, "bench/")
}
