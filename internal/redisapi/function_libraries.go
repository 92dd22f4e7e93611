package redisapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/lua"
)

// Bounds on the function libraries of a database: more are refused.
const (
	maxLibraries    = 1000
	maxFunctions    = 10_000
	maxLibraryBytes = 16 << 20 // of all texts, names and descriptions
	maxLibraryName  = 1 << 10
)

const (
	errManyLibraries  = refusal("ERR there would be more than 1000 function libraries, the most that Howdah keeps; delete some")
	errManyFunctions  = refusal("ERR there would be 10000 functions, more than Howdah keeps; delete some libraries")
	errLargeLibraries = refusal("ERR the function libraries would have more than 16777216 bytes of text, names and descriptions, the most that Howdah keeps; delete some")
)

// functions are the function libraries of a database in one state. They do not change.
type functions struct {
	state     string
	libraries []*functionLibrary   // by name
	byName    map[string]*function // by name in lower case: those of Redis have no case either
	bytes     int                  // as functionLibrary.size counts
}

// functionLibrary is a library as it is stored.
type functionLibrary struct {
	name    string
	source  []byte
	library *lua.Library // nil if it cannot be loaded
}

// size is what counts towards maxLibraryBytes: a short source can make long names.
func (l *functionLibrary) size() int {
	size := len(l.source)
	if l.library != nil {
		for _, f := range l.library.Functions() {
			size += len(f.Name) + len(f.Description)
		}
	}
	return size
}

// function is one of a library. It implements runnable.
type function struct {
	lua.Function
	library *functionLibrary
	habits
}

func (f *function) flags() lua.Flags { return f.Flags }

func (f *function) run(ctx context.Context, run *lua.Run) ([]byte, error) {
	return f.library.library.Call(ctx, f.Name, run)
}

// newFunctions makes the functions of libraries.
func newFunctions(state string, libraries []*functionLibrary) *functions {
	libraries = slices.SortedFunc(slices.Values(libraries), func(a, b *functionLibrary) int { return cmp.Compare(a.name, b.name) })
	fs := &functions{state: state, libraries: libraries, byName: make(map[string]*function)}
	for _, l := range libraries {
		fs.bytes += l.size()
		if l.library == nil {
			continue
		}
		for _, f := range l.library.Functions() {
			name := lowerName([]byte(f.Name))
			if fs.byName[name] == nil && len(fs.byName) < maxFunctions {
				fs.byName[name] = &function{Function: f, library: l}
			}
		}
	}
	return fs
}

func lowerName(name []byte) string { return string(lower(make([]byte, 0, len(name)+1), name)) }

// find returns a function, nil if there is none.
func (fs *functions) find(name []byte) *function { return fs.byName[lowerName(name)] }

// named returns a library, nil if there is none.
func (fs *functions) named(name string) *functionLibrary {
	i, found := slices.BinarySearchFunc(fs.libraries, name, func(l *functionLibrary, name string) int { return cmp.Compare(l.name, name) })
	if !found {
		return nil
	}
	return fs.libraries[i]
}

// without returns the libraries but those of these names.
func without(libraries []*functionLibrary, names map[string]bool) []*functionLibrary {
	return slices.DeleteFunc(slices.Clone(libraries), func(l *functionLibrary) bool { return names[l.name] })
}

// with returns the functions with more libraries, which replace those of their names.
// Error: two libraries have one function, or there are too many.
func (fs *functions) with(added ...*functionLibrary) (*functions, error) {
	names := make(map[string]bool)
	for _, l := range added {
		names[l.name] = true
	}
	kept := without(fs.libraries, names)
	owners := make(map[string]*functionLibrary)
	for name, f := range newFunctions("", kept).byName {
		owners[name] = f.library
	}
	for _, l := range added {
		for _, f := range l.library.Functions() {
			name := lowerName([]byte(f.Name))
			if owners[name] != nil && owners[name] != l {
				return nil, refusal("ERR Function " + f.Name + " already exists")
			}
			owners[name] = l
		}
	}
	next := newFunctions("", append(kept, added...))
	switch {
	case len(next.libraries) > maxLibraries:
		return nil, errManyLibraries
	case next.bytes > maxLibraryBytes:
		return nil, errLargeLibraries
	case len(next.byName) == maxFunctions:
		return nil, errManyFunctions
	}
	return next, nil
}

// loadFunctions makes the functions of what is stored. Libraries that are loaded
// already are not loaded again. One that cannot be loaded leaves the others alone.
func (e *Engine) loadFunctions(ctx context.Context, stored []core.FunctionLibrary, state string) *functions {
	before := e.shared.functions.Load()
	libraries := make([]*functionLibrary, 0, len(stored))
	size := 0
	for _, row := range stored {
		if known := before.named(row.Name); known != nil && known.library != nil && bytes.Equal(known.source, row.Source) {
			libraries = append(libraries, known)
			size += known.size()
			continue
		}
		l := &functionLibrary{name: row.Name, source: row.Source}
		library, err := loadStored(ctx, row)
		if err == nil {
			l.library = library
			if size += l.size(); size > maxLibraryBytes {
				l.library, err = nil, errors.New("there are too many functions")
			}
		}
		if err != nil {
			e.log("a row of howdah_internal.function_library cannot be loaded", "library", row.Name, "error", err)
		}
		libraries = append(libraries, l)
	}
	return newFunctions(state, libraries)
}

// loadStored loads a library that was loaded on some server before. It has the time of a
// script: this server may be the slower one.
func loadStored(ctx context.Context, row core.FunctionLibrary) (*lua.Library, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, scriptTime, errScriptTime)
	defer cancel()
	library, err := lua.LoadLibrary(ctx, row.Source, lua.Limits{})
	if err == nil && library.Name() != row.Name {
		return nil, fmt.Errorf("its first line names it %q", library.Name())
	}
	return library, err
}

// broken returns what to say of libraries that cannot be loaded, "" if there are none.
func (fs *functions) broken() string {
	var names []string
	for _, l := range fs.libraries {
		if l.library == nil {
			names = append(names, l.name)
		}
	}
	if names == nil {
		return ""
	}
	return "; libraries that cannot be loaded: " + strings.Join(names[:min(len(names), 3)], ", ")
}
