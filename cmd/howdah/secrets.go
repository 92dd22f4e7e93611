package main

import (
	"slices"
	"strings"
	"unsafe"
)

// secretFlags are the flags whose values may hold a secret.
var secretFlags = []string{"--password", "--token", "--session-token", "--console-viewer-token", "--database-url", "--listen-url", "--read-url", "--server", "-u"}

// hideSecrets returns a copy of the command line and overwrites the secrets in
// the original, so that ps and /proc do not show them for as long as the
// program runs. (They did for an instant: files and the environment are the
// better places.)
//
// On Unix the strings of os.Args are the very memory that the system reads the
// command line from; Redis and PostgreSQL clients overwrite it likewise.
func hideSecrets(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = strings.Clone(arg)
	}
	for i, arg := range kept {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "redis://"), strings.HasPrefix(arg, "rediss://"):
			wipe(args[i], arg) // the source of an import or a comparison
		case strings.HasPrefix(arg, "-u") && len(arg) > len("-u") && !given:
			wipe(args[i][len("-u"):], arg[len("-u"):]) // a short flag with its value
		case !slices.Contains(secretFlags, name):
		case given:
			wipe(args[i][len(name)+1:], value)
		case i+1 < len(args):
			wipe(args[i+1], kept[i+1])
		}
	}
	return kept
}

// wipe overwrites text, whose present content is known to the caller.
func wipe(text, content string) {
	if content == "" {
		return
	}
	memory := unsafe.Slice(unsafe.StringData(text), len(text))
	for i := range memory {
		memory[i] = '*'
	}
}
