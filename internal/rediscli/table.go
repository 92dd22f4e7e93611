package rediscli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// Command is what a server says about one of its commands.
type Command struct {
	Name    string // in upper case; that of a subcommand is "CLIENT LIST"
	Summary string
	Syntax  string // the arguments, as in "key value [NX | XX] [GET]"
}

// Table holds the commands of a server by name.
type Table map[string]Command

// LoadTable asks a server for its commands. A server without COMMAND DOCS gives
// their names only.
func LoadTable(ctx context.Context, c *Client) (Table, error) {
	reply, err := c.Do(ctx, "COMMAND", "DOCS")
	if err != nil {
		return nil, err
	}
	table := make(Table)
	if reply.Kind != resp.Error {
		for name, docs := range pairs(reply) {
			table.add(name, docs)
		}
		return table, nil
	}
	if reply, err = c.Do(ctx, "COMMAND"); err != nil {
		return nil, err
	}
	for _, info := range reply.Elems {
		if len(info.Elems) > 0 {
			name := strings.ToUpper(string(info.Elems[0].Str))
			table[name] = Command{Name: name}
		}
	}
	return table, reply.Err()
}

// add adds a command with its subcommands, whose names come as "client|list".
func (t Table) add(name string, docs resp.Reply) {
	name = strings.ToUpper(strings.ReplaceAll(name, "|", " "))
	command := Command{Name: name}
	for field, value := range pairs(docs) {
		switch field {
		case "summary":
			command.Summary = string(value.Str)
		case "arguments":
			command.Syntax = syntax(value)
		case "subcommands":
			for sub, subDocs := range pairs(value) {
				t.add(sub, subDocs)
			}
		}
	}
	t[name] = command
}

// Find returns the command that the words begin with; a subcommand before its
// container.
func (t Table) Find(words []string) (Command, bool) {
	for n := min(2, len(words)); n > 0; n-- {
		if c, ok := t[strings.ToUpper(strings.Join(words[:n], " "))]; ok {
			return c, true
		}
	}
	return Command{}, false
}

// Candidates returns the names that may stand where the last word is being
// typed: commands, or subcommands of the first word.
func (t Table) Candidates(words []string) []string {
	if len(words) == 0 || len(words) > 2 {
		return nil
	}
	prefix := strings.ToUpper(strings.Join(words, " "))
	var names []string
	for name := range t {
		if strings.HasPrefix(name, prefix) && strings.Count(name, " ") == len(words)-1 {
			names = append(names, name[strings.LastIndexByte(name, ' ')+1:])
		}
	}
	slices.Sort(names)
	return names
}

// pairs are the keys and values of a map, which RESP2 sends as an array.
func pairs(r resp.Reply) func(yield func(string, resp.Reply) bool) {
	return func(yield func(string, resp.Reply) bool) {
		for i := 0; i+1 < len(r.Elems); i += 2 {
			if !yield(string(r.Elems[i].Str), r.Elems[i+1]) {
				return
			}
		}
	}
}

// syntax writes a list of arguments of COMMAND DOCS in one line.
func syntax(arguments resp.Reply) string {
	parts := make([]string, len(arguments.Elems))
	for i, a := range arguments.Elems {
		parts[i] = argument(a)
	}
	return strings.Join(parts, " ")
}

func argument(a resp.Reply) string {
	var name, display, kind, token string
	var children resp.Reply
	flags := make(map[string]bool)
	for field, value := range pairs(a) {
		switch field {
		case "name":
			name = string(value.Str)
		case "display_text":
			display = string(value.Str)
		case "type":
			kind = string(value.Str)
		case "token":
			token = string(value.Str)
		case "arguments":
			children = value
		case "flags":
			for _, flag := range value.Elems {
				flags[string(flag.Str)] = true
			}
		}
	}
	text := cmp.Or(display, name)
	switch kind {
	case "pure-token":
		text = ""
	case "block":
		text = syntax(children)
	case "oneof":
		choices := make([]string, len(children.Elems))
		for i, child := range children.Elems {
			choices[i] = argument(child)
		}
		text = strings.Join(choices, " | ")
		if token != "" || !flags["optional"] {
			text = "<" + text + ">"
		}
	}
	whole := strings.TrimSpace(token + " " + text)
	if flags["multiple"] {
		again := text
		if flags["multiple_token"] {
			again = whole
		}
		whole += " [" + again + " ...]"
	}
	if flags["optional"] {
		return "[" + whole + "]"
	}
	return whole
}

// is says whether a word of a command line is a name.
func is(word, name string) bool { return strings.EqualFold(word, name) }
