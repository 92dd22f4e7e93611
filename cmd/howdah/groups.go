package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// group is a part of "howdah help" with its commands, which are shown by name.
type group struct {
	id, title string
	commands  []string
}

// groups are the parts of the help. Every command is in one.
func groups() []group {
	return []group{
		{"run", "Run a server:", []string{"serve", "healthcheck", "url", "console"}},
		{"entries", "Read and write entries:", []string{"cli", "get", "set", "del", "ttl", "keys", "export", "import"}},
		{"look", "See what goes on:", []string{"stat", "top", "slow", "monitor", "bigkeys", "alerts", "grafana"}},
		{"database", "Look after a database:", []string{"migrate", "caches", "sessions", "doctor", "maintain", "servers", "rebalance", "psql", "compare"}},
		{"program", "About this program:", []string{"help", "completion", "version"}},
	}
}

// addGroups puts the commands of root into their groups.
func addGroups(root *cobra.Command) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = groupOf(cmd.Name())
	}
	root.SetHelpCommandGroupID(groupOf("help"))
	root.SetCompletionCommandGroupID(groupOf("completion"))
}

// groupOf returns the id of a command's group, "" for none.
func groupOf(command string) string {
	for _, g := range groups() {
		if slices.Contains(g.commands, command) {
			return g.id
		}
	}
	return ""
}
