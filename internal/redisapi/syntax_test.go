package redisapi

import (
	"fmt"
	"strings"
	"testing"
)

// outline formats arguments briefly: ? optional, + multiple.
func outline(arguments []argument) string {
	var parts []string
	for _, a := range arguments {
		text := a.name
		if a.token != "" {
			text = a.token
			if a.kind != "pure-token" {
				text += "=" + a.name
			}
		}
		if a.parts != nil {
			text = fmt.Sprintf("%s(%s)", a.kind, outline(a.parts))
		}
		if a.optional {
			text += "?"
		}
		if a.multiple {
			text += "+"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestParseSyntax(t *testing.T) {
	t.Parallel()
	for syntax, want := range map[string]string{
		"":                                "",
		"key":                             "key",
		"key [key ...]":                   "key+",
		"key value [key value ...]":       "block(key value)+",
		"key seconds [NX | XX | GT | LT]": "key seconds oneof(NX XX GT LT)?",
		"key value [NX | XX] [GET] [EX seconds | KEEPTTL]":         "key value oneof(NX XX)? GET? oneof(EX=seconds KEEPTTL)?",
		"cursor [MATCH pattern] [COUNT count]":                     "cursor MATCH=pattern? COUNT=count?",
		"[username] password":                                      "username? password",
		"[section [section ...]]":                                  "section?+",
		"<LEFT | RIGHT> [COUNT count]":                             "oneof(LEFT RIGHT) COUNT=count?",
		"[AGGREGATE <SUM | MIN>]":                                  "oneof(SUM MIN)?",
		"ON | OFF | SKIP":                                          "oneof(ON OFF SKIP)",
		"[protover [AUTH username password] [SETNAME clientname]]": "block(protover block(AUTH=username password)? SETNAME=clientname?)?",
	} {
		if got := outline(parseSyntax(syntax)); got != want {
			t.Errorf("%q\n got %s\nwant %s", syntax, got, want)
		}
	}
}

// TestTable checks what every command must have.
func TestTable(t *testing.T) {
	t.Parallel()
	table := newTable()
	seen := make(map[string]bool)
	table.each(func(cmd *Command) {
		if seen[cmd.fullName] {
			t.Errorf("%s is there twice", cmd.fullName)
		}
		seen[cmd.fullName] = true
		ways := 0
		for _, way := range []bool{cmd.call != nil, cmd.now != nil, cmd.run != nil, cmd.edit != nil, cmd.subscribes != nil, cmd.onlyValue(), cmd.refused != ""} {
			if way {
				ways++
			}
		}
		if ways != 1 && (cmd.Sub == nil || ways > 1) {
			t.Errorf("%s has %d ways to run", cmd.fullName, ways)
		}
		if cmd.Summary == "" || cmd.Since == "" || cmd.Complexity == "" || cmd.Group == "" || cmd.Arity == 0 {
			t.Errorf("%s is not fully described", cmd.fullName)
		}
		if len(cmd.Name) >= longestName {
			t.Errorf("%s has too long a name", cmd.fullName)
		}
		if strings.Count(cmd.Syntax, "[") != strings.Count(cmd.Syntax, "]") {
			t.Errorf("%s: brackets in %q", cmd.fullName, cmd.Syntax)
		}
	})
}
