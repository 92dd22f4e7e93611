package arrows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArrows(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	module, files := readModule(t, root)
	seen := map[string]bool{}
	for _, f := range files {
		seen[f.room()] = true
	}
	require.True(t, seen["internal/test/arrows"], "the walk did not find this very folder")
	for _, sentence := range check(module, house, files) {
		t.Error(sentence)
	}
}

// readModule parses every Go file below root, whatever its build tags, that
// belongs to the module: not those of a module nested in it.
func readModule(t *testing.T, root string) (module string, files []file) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	require.NotNil(t, m, "go.mod has no module line")

	err = fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p == "." {
				return nil
			}
			_, err := os.Stat(filepath.Join(root, p, "go.mod"))
			if err == nil || d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return err
		}
		f, err := read(p, string(text))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	require.NoError(t, err)
	return string(m[1]), files
}

// environmentReaders are the functions of packages os and syscall that read
// environment variables named by the program.
var environmentReaders = map[string]bool{
	"Getenv": true, "LookupEnv": true, "Environ": true, "ExpandEnv": true,
}

// longestFunction is how many lines a function may have outside of tests.
const longestFunction = 100

// read takes from one source file what the rules need.
func read(p, text string) (file, error) {
	f := file{path: p}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, p, text, parser.SkipObjectResolution)
	if err != nil {
		return f, err
	}
	names := map[string]string{} // local name of os and syscall -> path
	for _, spec := range syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, err
		}
		f.imports = append(f.imports, target)
		if target == "os" || target == "syscall" {
			name := target
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = target
		}
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f.test() && isSerialTest(n) {
				f.serial = append(f.serial, n.Name.Name)
			}
			if n.Name.Name == "init" && n.Recv == nil {
				f.inits++
			}
			if set.Position(n.End()).Line-set.Position(n.Pos()).Line >= longestFunction {
				f.long = append(f.long, n.Name.Name)
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && names[x.Name] != "" && environmentReaders[n.Sel.Name] {
				f.env = append(f.env, names[x.Name]+"."+n.Sel.Name)
			}
		}
		return true
	})
	return f, nil
}
