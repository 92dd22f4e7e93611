// Package schema holds the SQL of Howdah as text: numbered migrations, which
// only ever grow in number, and functions, which are replaced as a whole. It
// runs nothing; package migrate does.
package schema

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:generate go test -run TestReferenceIsUpToDate -update

//go:embed migrations/*.sql functions/*.sql
var files embed.FS

// FunctionsVersion numbers the set of functions. It goes up with every release
// that changes one of them, so that an older program knows that it must not
// put its own set back.
const FunctionsVersion = 2

// Migration is one numbered step.
type Migration struct {
	Version int    // 1, 2, 3, ... without gaps
	Name    string // the file's name without number and endings
	// Breaking says that programs which do not know this migration cannot
	// work with the result. Its file ends in ".breaking.sql".
	Breaking bool
	SQL      string
}

// Function is one SQL function with its comment and privileges.
type Function struct {
	Name string // without the schema; internal ones begin with "_" and are in howdah_internal
	// Signature is what PostgreSQL knows the function by, such as
	// "howdah.get(text, bytea)".
	Signature string
	SQL       string
}

// Internal tells whether the function is no part of the contract.
func (f Function) Internal() bool { return strings.HasPrefix(f.Name, "_") }

// Migrations returns all migrations in their order.
func Migrations() []Migration {
	var all []Migration
	for _, f := range read("migrations") {
		number, name, _ := strings.Cut(f.name, "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			panic(fmt.Sprintf("schema: migration %q has no number", f.name))
		}
		name, breaking := strings.CutSuffix(name, ".breaking")
		all = append(all, Migration{version, name, breaking, f.sql})
	}
	return all
}

// Latest is the version of the newest migration.
func Latest() int {
	all := Migrations()
	return all[len(all)-1].Version
}

// commented finds the signature of a function in its COMMENT.
var commented = regexp.MustCompile(`(?m)^COMMENT ON FUNCTION (howdah(?:_internal)?\.\w+\([^)]*\)) IS$`)

// Functions returns all functions in an order in which they can be created:
// by name, internal ones first.
func Functions() []Function {
	var all []Function
	for _, f := range read("functions") {
		match := commented.FindStringSubmatch(f.sql)
		if match == nil {
			panic(fmt.Sprintf("schema: function %q has no comment", f.name))
		}
		all = append(all, Function{f.name, match[1], f.sql})
	}
	return all
}

// FunctionsDigest is the SHA-256 of the text of all functions, in hex.
func FunctionsDigest() string {
	h := sha256.New()
	for _, f := range read("functions") {
		fmt.Fprintf(h, "%s\x00%s\x00", f.name, f.sql)
	}
	return hex.EncodeToString(h.Sum(nil))
}

type file struct{ name, sql string }

// read returns the files of a folder, ordered by name. What is embedded can
// always be read.
func read(folder string) []file {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	all := make([]file, 0, len(entries))
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			panic(err)
		}
		all = append(all, file{strings.TrimSuffix(entry.Name(), ".sql"), string(text)})
	}
	return all
}
