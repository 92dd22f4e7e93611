//go:build peers

package redisapi

import (
	"slices"
	"strings"
	"testing"
)

// aboutLines ask what the server is, or whether it may be set up as it is already.
const aboutLines = `
ROLE
ROLE x
LASTSAVE x
ACL
ACL WHOAMI
ACL LIST
ACL USERS
ACL CAT
ACL CAT nosuch
ACL CAT a b
ACL CAT transaction
ACL CAT TRANSACTION
ACL GETUSER default
ACL GETUSER Default
ACL GETUSER nosuch
ACL GETUSER a b
ACL GENPASS 0
ACL GENPASS -1
ACL GENPASS 4097
ACL GENPASS x
ACL GENPASS 1 2
ACL DELUSER default
ACL DELUSER nosuch
ACL DELUSER nosuch default
ACL DRYRUN default get k
ACL DRYRUN default GET
ACL DRYRUN nosuch get k
ACL DRYRUN default nosuch
ACL DRYRUN default client nosuch
ACL DRYRUN default client
ACL DRYRUN default client id
ACL DRYRUN default client|id
ACL DRYRUN default client setname a b
ACL LOG
ACL LOG 5
ACL LOG -1
ACL LOG x
ACL LOG reset
ACL LOG 1 2
ACL LOAD
ACL LOAD x
ACL SAVE
ACL nosuch
ACL SETUSER
ACL SETUSER default
ACL SETUSER default on ~* &* +@all allkeys allchannels allcommands
MODULE
MODULE LIST
MODULE LIST x
MODULE LOAD x
MODULE LOADEX x
MODULE UNLOAD x
MODULE UNLOAD x y
MODULE nosuch
LOLWUT VERSION x
BGSAVE x
BGSAVE SCHEDULE x
SAVE x
REPLICAOF NO ONE
slaveof no one
REPLICAOF x
CONFIG GET nosuch
CONFIG GET timeout TIMEOUT Timeout tcp-keepalive
CONFIG GET MaxMemory hz
CONFIG SET timeout 100 tcp-keepalive 60
CONFIG GET timeout tcp-keepalive
CONFIG SET timeout -1
CONFIG SET timeout 0 nosuch 1
CONFIG SET timeout 0 timeout 0
CONFIG SET timeout
CONFIG GET timeout
CONFIG SET timeout 0 tcp-keepalive 300
CONFIG SET maxmemory -1
CONFIG SET maxmemory 100mb maxmemory 1
CONFIG SET maxmemory 100mb maxmemory-policy nosuch
CONFIG SET maxmemory-policy nosuch
CONFIG SET maxmemory 100mb maxmemory-policy volatile-lru timeout 7
CONFIG GET maxmemory
CONFIG GET maxmemory-policy
CONFIG GET timeout
CONFIG SET maxmemory 0 maxmemory-policy noeviction timeout 0
CONFIG GET maxmemory-policy
CONFIG GET maxmemory
CONFIG SET latency-tracking-info-percentiles
CONFIG SET latency-tracking-info-percentiles x
CONFIG SET latency-tracking-info-percentiles nan
CONFIG SET latency-tracking-info-percentiles -1
CONFIG SET latency-tracking-info-percentiles 100.1
CONFIG SET latency-tracking-info-percentiles 33.333333333333336
CONFIG GET latency-tracking-info-percentiles
CONFIG SET latency-tracking-info-percentiles 99.99999999
CONFIG GET latency-tracking-info-percentiles
CONFIG SET latency-tracking-info-percentiles 05.
CONFIG GET latency-tracking*
COMMAND LIST FILTERBY ACLCAT nosuch
`

// TestAboutTheServer compares what the server says of itself with redis-server.
func TestAboutTheServer(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"", "secret"} {
		var args []string
		if password != "" {
			args = []string{"--requirepass", password}
		}
		redis, howdah := dial(t, startRedis(t, args...)), dial(t, serve(t, Options{Password: password}).addr())
		for _, proto := range []string{"2", "3"} {
			for _, c := range []*testClient{redis, howdah} {
				if password != "" {
					c.do("AUTH", password)
				}
				c.do("HELLO", proto)
				c.do("CONFIG", "SET", "latency-tracking-info-percentiles", "50 99 99.9")
			}
			for line := range strings.Lines(strings.TrimSpace(aboutLines)) {
				words := strings.Fields(line)
				want, got := redis.do(words...), howdah.do(words...)
				if strings.HasPrefix(line, "ACL CAT ") || strings.HasPrefix(line, "CONFIG GET ") { // in the order of a hash table in Redis
					want, got = sortedLines(want), sortedLines(got)
				}
				if got != want {
					t.Errorf("RESP%s %s: got %q, want %q", proto, strings.TrimSpace(line), got, want)
				}
			}
		}
	}
}

// TestRowsOfCommandsAboutTheServer compares COMMAND INFO of commands without keys, and their categories.
func TestRowsOfCommandsAboutTheServer(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	names := strings.Fields("role lastsave lolwut save bgsave bgrewriteaof replicaof slaveof monitor debug")
	for _, parent := range []string{"acl", "module", "config", "latency", "memory"} {
		cmd := newTable().byName[parent]
		for _, sub := range cmd.Sub {
			names = append(names, sub.fullName)
		}
	}
	for _, name := range names {
		if want, got := redis.do("COMMAND", "INFO", name), howdah.do("COMMAND", "INFO", name); want != got {
			t.Errorf("%s\n got %q\nwant %q", name, got, want)
		}
	}
	for _, category := range aclCategories {
		want := elements(redis.do("ACL", "CAT", category))
		for _, name := range elements(howdah.do("ACL", "CAT", category)) {
			cmd := newTable().byName[unbulk(name)]
			if cmd.Since < "7.2" && cmd.Group != "module" && !slices.Contains(want, name) {
				t.Errorf("%q is not in the category %s of Redis", name, category)
			}
		}
	}
}

// TestPercentilesOfRedis compares the lines of INFO latencystats but for the times.
func TestPercentilesOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, setting := range []string{"50 99 99.9", "100 0.001", "", "33.333333333333336 0"} {
		var shown []string
		for _, c := range []*testClient{redis, howdah} {
			c.want("+OK\r\n", "CONFIG", "RESETSTAT")
			c.want("+OK\r\n", "CONFIG", "SET", "latency-tracking-info-percentiles", setting)
			c.do("GET", "k")
			c.do("CLIENT", "ID")
			var lines []string
			for name, value := range infoFields(t, c.do("INFO", "latencystats")) {
				for share := range strings.SplitSeq(value, ",") {
					percent, _, _ := strings.Cut(share, "=")
					lines = append(lines, name+" "+percent)
				}
			}
			slices.Sort(lines)
			shown = append(shown, strings.Join(lines, "\n"))
		}
		if shown[0] != shown[1] {
			t.Errorf("%q\n got %s\nwant %s", setting, shown[1], shown[0])
		}
	}
	for _, c := range []*testClient{redis, howdah} {
		c.want("+OK\r\n", "CONFIG", "SET", "latency-tracking", "no")
		c.want("$16\r\n# Latencystats\r\n\r\n", "INFO", "latencystats")
	}
}

func sortedLines(reply string) string {
	lines := strings.Split(reply, "\r\n")
	slices.Sort(lines)
	return strings.Join(lines, "\r\n")
}
