package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
)

// completionTimeout bounds how long a shell waits after Tab.
const completionTimeout = 2 * time.Second

// completeCaches completes the name of a cache, as the first argument of a
// command or as the value of a flag, if the command line names a database or an
// embedded one runs. What goes wrong is no completion: a shell has no place for
// an error.
func completeCaches(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || applyEnvironment(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cacheNames(cmd, prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeCacheFlag completes the value of --cache.
func completeCacheFlag(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completeCaches(cmd, nil, prefix)
}

func cacheNames(cmd *cobra.Command, prefix string) []cobra.Completion {
	var database databaseFlags
	for name, value := range map[string]*string{"database-url": &database.url, "data-dir": &database.dataDir} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			*value = flag.Value.String()
		}
	}
	url, err := database.find()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	db, err := howdah.Open(ctx, url, &howdah.Options{MaxConns: 2, Timeout: completionTimeout})
	if err != nil {
		return nil
	}
	defer db.Close()
	configs, err := db.Caches(ctx)
	if err != nil {
		return nil
	}
	var names []cobra.Completion
	for _, config := range configs {
		if strings.HasPrefix(config.Name, prefix) {
			names = append(names, config.Name)
		}
	}
	return names
}
