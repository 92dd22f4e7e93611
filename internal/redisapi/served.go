package redisapi

// Served returns the commands and subcommands that are served, by the names that INFO commandstats
// has ("get", "config|get"), each with what is different from Redis; "": nothing that is known.
func Served() map[string]string {
	served := map[string]string{}
	for name, cmd := range newTable().byName {
		if cmd.refused == "" {
			served[name] = cmd.Note
		}
	}
	return served
}
