package redisapi

import (
	"strings"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

func functionList(t *task, args [][]byte) error {
	pattern, withCode, err := parseFunctionList(args)
	if err != nil {
		return err
	}
	e := t.conn.engine
	if err := t.learnScripts(e.recentScripts()); err != nil {
		return err
	}
	var found []*functionLibrary
	for _, l := range e.shared.functions.Load().libraries {
		if pattern == nil || values.Match(pattern, []byte(lowerName([]byte(l.name)))) {
			found = append(found, l)
		}
	}
	t.out = resp.AppendArray(t.out, len(found))
	for _, l := range found {
		t.out = l.append(t.out, t.conn.proto, withCode)
	}
	return nil
}

// parseFunctionList reads the options of FUNCTION LIST. The pattern is in lower case, nil
// if there is none.
func parseFunctionList(args [][]byte) (pattern []byte, withCode bool, err error) {
	given := make(map[string]bool)
	for i := 2; i < len(args); i++ {
		option := strings.ToUpper(string(args[i]))
		if given[option] || option != "WITHCODE" && option != "LIBRARYNAME" {
			return nil, false, refusal("ERR Unknown argument " + string(cString(args[i], len(args[i]))))
		}
		given[option] = true
		if option == "LIBRARYNAME" {
			if i++; i == len(args) {
				return nil, false, refusal("ERR library name argument was not given")
			}
			if len(args[i]) > maxNamePatterns {
				return nil, false, errLongNamePatterns
			}
			pattern = []byte(lowerName(args[i]))
		}
	}
	return pattern, given["WITHCODE"], nil
}

// append appends a library as FUNCTION LIST answers it.
func (l *functionLibrary) append(dst []byte, proto resp.Proto, withCode bool) []byte {
	fields := 3
	if withCode {
		fields++
	}
	dst = resp.AppendMap(dst, proto, fields)
	dst = appendTexts(dst, "library_name", l.name, "engine", "LUA", "functions")
	if l.library == nil {
		dst = resp.AppendArray(dst, 0)
	} else {
		dst = resp.AppendArray(dst, len(l.library.Functions()))
		for _, f := range l.library.Functions() {
			dst = resp.AppendMap(dst, proto, 3)
			dst = appendTexts(dst, "name", f.Name, "description")
			if f.HasDescription {
				dst = resp.AppendBulkString(dst, f.Description)
			} else {
				dst = resp.AppendNull(dst, proto)
			}
			dst = resp.AppendBulkString(dst, "flags")
			dst = resp.AppendSet(dst, proto, len(f.Flags.Names()))
			for _, name := range f.Flags.Names() {
				dst = resp.AppendSimple(dst, name)
			}
		}
	}
	if withCode {
		dst = appendTexts(dst, "library_code", string(l.source))
	}
	return dst
}

func appendTexts(dst []byte, texts ...string) []byte {
	for _, text := range texts {
		dst = resp.AppendBulkString(dst, text)
	}
	return dst
}

func functionStats(t *task, _ [][]byte) error {
	e, proto := t.conn.engine, t.conn.proto
	if err := t.learnScripts(e.recentScripts()); err != nil {
		return err
	}
	t.out = resp.AppendMap(t.out, proto, 2)
	t.out = resp.AppendBulkString(t.out, "running_script")
	if run, ok := e.scripts.longest(); ok {
		t.out = resp.AppendMap(t.out, proto, 3)
		t.out = appendTexts(t.out, "name", run.function, "command")
		t.out = appendBulks(t.out, run.words)
		t.out = resp.AppendBulkString(t.out, "duration_ms")
		t.out = resp.AppendInt(t.out, int64(time.Since(run.begun)/time.Millisecond))
	} else {
		t.out = resp.AppendNull(t.out, proto)
	}
	now := e.shared.functions.Load()
	count := 0
	for _, l := range now.libraries {
		if l.library != nil {
			count += len(l.library.Functions())
		}
	}
	t.out = resp.AppendBulkString(t.out, "engines")
	t.out = resp.AppendMap(t.out, proto, 1)
	t.out = resp.AppendBulkString(t.out, "LUA")
	t.out = resp.AppendMap(t.out, proto, 2)
	t.out = resp.AppendBulkString(t.out, "libraries_count")
	t.out = resp.AppendInt(t.out, int64(len(now.libraries)))
	t.out = resp.AppendBulkString(t.out, "functions_count")
	t.out = resp.AppendInt(t.out, int64(count))
	return nil
}
