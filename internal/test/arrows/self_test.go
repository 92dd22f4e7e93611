package arrows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rules applied to made-up files: each must be able to fail.
func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	const m = "example.org/m"
	for name, c := range map[string]struct {
		file file
		want string // "" is allowed
	}{
		"down":                  {file{path: "internal/server/a.go", imports: []string{m + "/internal/httpapi", m + "/session", m, m + "/migrate", m + "/schema"}}, ""},
		"to a leaf":             {file{path: "internal/redisapi/a.go", imports: []string{m + "/internal/resp", m + "/internal/coalesce"}}, ""},
		"up":                    {file{path: "a.go", imports: []string{m + "/session"}}, "a.go imports session; the arrow points up, from floor 6 to floor 8"},
		"up from the ground":    {file{path: "schema/a.go", imports: []string{m}}, "schema/a.go imports .; the arrow points up, from ground to floor 6"},
		"up in a test":          {file{path: "a_test.go", imports: []string{m + "/cmd/howdah"}}, "a_test.go imports cmd/howdah; the arrow points up, from floor 6 to the roof"},
		"a test's door":         {file{path: "backend/redis/a_test.go", imports: []string{m + "/backend"}}, ""},
		"no test, that door":    {file{path: "backend/redis/a.go", imports: []string{m + "/backend"}}, "backend/redis/a.go imports backend; the arrow points up, from floor 8 to floor 9"},
		"beside":                {file{path: "backend/a.go", imports: []string{m + "/internal/httpapi"}}, "backend/a.go imports internal/httpapi; both are on floor 9, and rooms of one floor do not know each other"},
		"doctor to migrate":     {file{path: "internal/doctor/a.go", imports: []string{m + "/migrate"}}, "internal/doctor/a.go imports migrate; both are on floor 1, and rooms of one floor do not know each other"},
		"doctor to schema":      {file{path: "internal/doctor/a.go", imports: []string{m + "/schema", "github.com/jackc/pgx/v5"}}, ""},
		"from a leaf":           {file{path: "internal/coalesce/a.go", imports: []string{m}}, "internal/coalesce/a.go imports .; internal/coalesce is a leaf and imports nothing of this module"},
		"leaf to ground":        {file{path: "internal/embedded/a.go", imports: []string{m + "/schema"}}, "internal/embedded/a.go imports schema; internal/embedded is a leaf and imports nothing of this module"},
		"leaf to leaf":          {file{path: "internal/coalesce/a.go", imports: []string{m + "/internal/resp"}}, "internal/coalesce/a.go imports internal/resp; internal/coalesce is a leaf and imports nothing of this module"},
		"library in resp":       {file{path: "internal/resp/a.go", imports: []string{"golang.org/x/sys/unix"}}, "internal/resp/a.go imports golang.org/x/sys/unix; internal/resp uses the standard library only"},
		"library in its tests":  {file{path: "internal/resp/a_test.go", imports: []string{"pgregory.net/rapid", "bytes"}}, ""},
		"test room in product":  {file{path: "a.go", imports: []string{m + "/internal/test/pgtest"}}, "a.go imports internal/test/pgtest, which is for tests only; import it from _test.go files"},
		"test room in a test":   {file{path: "migrate/a_test.go", imports: []string{m + "/internal/test/pgtest", m + "/migrate"}}, ""},
		"test room to others":   {file{path: "backend/backendtest/a.go", imports: []string{m, m + "/internal/test/pgtest"}}, ""},
		"new folder":            {file{path: "internal/parlour/a.go"}, "internal/parlour: this folder is on no floor; add it to the table house in internal/test/arrows/house_test.go"},
		"to a new folder":       {file{path: "a.go", imports: []string{m + "/parlour"}}, "a.go imports parlour, which is on no floor; add it to the table house in internal/test/arrows/house_test.go"},
		"module of like name":   {file{path: "a.go", imports: []string{m + "ore/x"}}, ""},
		"example to the public": {file{path: "examples/scs/a.go", imports: []string{m, m + "/session/scsstore", m + "/migrate"}}, ""},
		"example to internal":   {file{path: "examples/scs/a.go", imports: []string{m + "/internal/embedded"}}, "examples/scs/a.go imports internal/embedded; nobody could copy examples/scs, which is there to be copied"},
		"test of an example":    {file{path: "examples/scs/a_test.go", imports: []string{m + "/internal/test/pgtest"}}, ""},
		"init":                  {file{path: "a.go", inits: 1}, "a.go: func init runs behind the caller's back; make it a function that is called"},
		"environment":           {file{path: "internal/server/a.go", env: []string{"os.Getenv"}}, "internal/server/a.go: os.Getenv reads the environment; take the value as a parameter, only programs under cmd read the environment"},
		"environment allowed":   {file{path: "cmd/howdah/a.go", env: []string{"os.Getenv"}}, ""},
		"environment of tests":  {file{path: "session/a_test.go", env: []string{"os.LookupEnv"}}, ""},
		"environment elsewhere": {file{path: "internal/embedded/find.go", env: []string{"os.Environ"}}, "internal/embedded/find.go: os.Environ reads the environment; take the value as a parameter, only programs under cmd read the environment"},
		"door to the driver":    {file{path: "internal/redisapi/a.go", imports: []string{"github.com/jackc/pgx/v5"}}, "internal/redisapi/a.go imports github.com/jackc/pgx/v5; a door asks core, and knows no driver of PostgreSQL"},
		"door's test":           {file{path: "internal/redisapi/a_test.go", imports: []string{"github.com/jackc/pgx/v5"}}, ""},
		"long function":         {file{path: "a.go", long: []string{"run"}}, "a.go: run has more than 100 lines; split it, so that it can be read in one look"},
		"long test":             {file{path: "a_test.go", long: []string{"TestAll"}}, ""},
		"drawer file":           {file{path: "session/utils.go"}, `session/utils.go: "utils" says nothing about what is inside; name it after its subject`},
		"drawer test":           {file{path: "session/helpers_test.go"}, `session/helpers_test.go: "helpers_test" says nothing about what is inside; name it after its subject`},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(m, house, []file{c.file})
			if c.want == "" {
				require.Empty(t, got)
			} else {
				require.Equal(t, []string{c.want}, got)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	f, err := read("a.go", strings.Replace(`//go:build never
package a

import (
	"fmt"
	system "os"
	_ "example.org/m/b"
)

type T struct{}

func (T) init() {}
func init() { fmt.Println(system.Getenv("X"), system.Args) }
func init() { v, _ := system.LookupEnv("Y"); _ = v }
func long() {
LINES
}
`, "LINES", strings.Repeat("\n", 98), 1))
	require.NoError(t, err)
	require.Equal(t, file{
		path:    "a.go",
		imports: []string{"fmt", "os", "example.org/m/b"},
		inits:   2,
		long:    []string{"long"},
		env:     []string{"os.Getenv", "os.LookupEnv"},
	}, f)
}
