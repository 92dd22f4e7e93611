package main

import "github.com/spf13/pflag"

// addSlow adds the flags that say what people are shown of the calls of others.
func (s *serveSettings) addSlow(f *pflag.FlagSet) {
	f.Var(&s.slow, "slow-call", "note calls that take so long or longer, for SLOWLOG, /v1/slow and the log; 0: none")
	f.BoolVar(&s.monitor, "monitor", true,
		"allow Redis clients MONITOR, which shows the commands and keys of all clients, without values and without the secrets in keys")
}
