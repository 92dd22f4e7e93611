package redisapi

import (
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// argument is one argument of a command, as in COMMAND DOCS.
type argument struct {
	name     string
	kind     string // string, integer, key, pure-token, oneof, block, ...
	token    string
	optional bool
	multiple bool
	parts    []argument // of oneof and block
}

// parseSyntax parses the notation of redis.io: words in capitals are tokens, []
// is optional, | separates choices, <> holds choices of which one must be made,
// [x ...] repeats the argument before it.
func parseSyntax(syntax string) []argument {
	p := syntaxParser{words: strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ", "<", " < ", ">", " > ").Replace(syntax))}
	return p.choices()
}

type syntaxParser struct{ words []string }

func (p *syntaxParser) next() string {
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

// choices parses up to the end of a group. Several choices become one argument.
func (p *syntaxParser) choices() []argument {
	sequences := [][]argument{nil}
	for len(p.words) > 0 && p.words[0] != "]" && p.words[0] != ">" {
		last := len(sequences) - 1
		switch word := p.next(); {
		case word == "|":
			sequences = append(sequences, nil)
		case word == "[":
			group := p.choices()
			p.next()
			sequences[last] = appendGroup(sequences[last], group)
		case word == "<":
			sequences[last] = append(sequences[last], p.choice(""))
		case word == "...":
			group := sequences[last]
			group[len(group)-1].multiple = true
		case isToken(word):
			sequences[last] = append(sequences[last], p.token(word))
		default:
			sequences[last] = append(sequences[last], argument{name: word, kind: kindOf(word)})
		}
	}
	if len(sequences) == 1 {
		return sequences[0]
	}
	one := argument{name: "option", kind: "oneof"}
	for _, sequence := range sequences {
		one.parts = append(one.parts, block(sequence))
	}
	return []argument{one}
}

// choice parses what <> holds, behind its token if it has one.
func (p *syntaxParser) choice(token string) argument {
	one := block(p.choices())
	p.next()
	one.token = token
	return one
}

// token parses a word in capitals and the value that may follow it.
func (p *syntaxParser) token(word string) argument {
	if len(p.words) > 0 && p.words[0] == "<" {
		p.next()
		return p.choice(word)
	}
	if len(p.words) > 0 && !isToken(p.words[0]) && !strings.Contains("[]<>|...", p.words[0]) {
		name := p.next()
		return argument{name: name, kind: kindOf(name), token: word}
	}
	return argument{name: strings.ToLower(word), kind: "pure-token", token: word}
}

func isToken(word string) bool { return word[0] >= 'A' && word[0] <= 'Z' }

// appendGroup appends the content of brackets: an optional argument, or, if it
// repeats the argument before it, the mark that this may be repeated.
func appendGroup(before, group []argument) []argument {
	if len(group) == 0 {
		return before
	}
	last := &group[len(group)-1]
	if n := len(group); last.multiple && n <= len(before) && before[len(before)-n].name == group[0].name {
		repeated := block(before[len(before)-n:])
		repeated.multiple = true
		return append(before[:len(before)-n:len(before)-n], repeated)
	}
	optional := block(group)
	optional.optional = true
	return append(before, optional)
}

// block makes one argument of several.
func block(arguments []argument) argument {
	if len(arguments) == 1 {
		return arguments[0]
	}
	names := make([]string, len(arguments))
	for i, a := range arguments {
		names[i] = a.name
	}
	return argument{name: strings.Join(names, "_"), kind: "block", parts: append([]argument(nil), arguments...)}
}

func kindOf(name string) string {
	switch name {
	case "key", "key1", "key2", "newkey", "source", "destination", "destkey", "sourcekey", "dst", "src":
		return "key"
	case "pattern", "parameter":
		return "pattern"
	case "seconds", "milliseconds", "numkeys", "numfields", "index", "index1", "index2", "db", "destination-db", "cursor", "count",
		"start", "end", "offset", "decrement", "timeout", "numreplicas", "protover", "client-id":
		return "integer"
	case "unix-time-seconds", "unix-time-milliseconds":
		return "unix-time"
	}
	return "string"
}

// appendArguments appends arguments in the form of COMMAND DOCS.
func appendArguments(dst []byte, proto resp.Proto, arguments []argument) []byte {
	dst = resp.AppendArray(dst, len(arguments))
	for _, a := range arguments {
		dst = a.append(dst, proto)
	}
	return dst
}

func (a *argument) append(dst []byte, proto resp.Proto) []byte {
	var flags []string
	if a.optional {
		flags = append(flags, "optional")
	}
	if a.multiple {
		flags = append(flags, "multiple")
	}
	fields := 2
	for _, present := range []bool{a.kind == "key", a.token != "", flags != nil, a.parts != nil} {
		if present {
			fields++
		}
	}
	dst = resp.AppendMap(dst, proto, fields)
	dst = appendField(dst, "name", a.name)
	dst = appendField(dst, "type", a.kind)
	if a.kind == "key" {
		dst = resp.AppendBulkString(dst, "key_spec_index")
		dst = append(dst, resp.Zero...)
	}
	if a.token != "" {
		dst = appendField(dst, "token", a.token)
	}
	if flags != nil {
		dst = resp.AppendBulkString(dst, "flags")
		dst = appendStatuses(dst, proto, flags)
	}
	if a.parts != nil {
		dst = resp.AppendBulkString(dst, "arguments")
		dst = appendArguments(dst, proto, a.parts)
	}
	return dst
}

func appendField(dst []byte, name, value string) []byte {
	return resp.AppendBulkString(resp.AppendBulkString(dst, name), value)
}

// appendStatuses appends a set of simple strings.
func appendStatuses(dst []byte, proto resp.Proto, words []string) []byte {
	dst = resp.AppendSet(dst, proto, len(words))
	for _, word := range words {
		dst = resp.AppendSimple(dst, word)
	}
	return dst
}
