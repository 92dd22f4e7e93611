package redisapi

import "strings"

// Served returns the commands and subcommands that are served, by the names that INFO commandstats
// has ("get", "config|get"), each with what is different from Redis; "": nothing that is known. That a cache
// may have a default TTL is left out: it has none until somebody sets it.
func Served() map[string]string {
	served := map[string]string{}
	for name, cmd := range newTable().byName {
		if cmd.refused == "" {
			served[name] = strings.TrimSpace(strings.ReplaceAll(cmd.Note, noteDefaultTTL, ""))
		}
	}
	return served
}
