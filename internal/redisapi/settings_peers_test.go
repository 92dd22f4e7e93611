//go:build peers

package redisapi

import (
	"slices"
	"strings"
	"testing"
)

// settingsOf returns all settings, as CONFIG GET shows them.
func settingsOf(t *testing.T, c *testClient) map[string]string {
	t.Helper()
	list := elements(c.do("CONFIG", "GET", "*"))
	found := make(map[string]string)
	for i := 0; i+1 < len(list); i += 2 {
		found[unbulk(list[i])] = unbulk(list[i+1])
	}
	return found
}

// TestSettingsOfRedis compares the names, defaults and checks of settings with
// redis-server.
func TestSettingsOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	want, got := settingsOf(t, redis), settingsOf(t, howdah)
	other := strings.Fields("bind daemonize dir pidfile port proto-max-bulk-len protected-mode dbfilename proc-title-template unixsocket " +
		"slowlog-log-slower-than maxmemory-policy " +
		"lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush")
	for name, value := range want {
		shown, known := got[name]
		if !known {
			t.Errorf("%s is not known", name)
		} else if shown != value && !slices.Contains(other, name) {
			t.Errorf("%s is %q, in Redis %q", name, shown, value)
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			t.Errorf("%s is no setting of Redis", name)
		}
	}
	for _, s := range settingList() {
		if s.kind == textSetting {
			continue // Redis checks each of them in another way
		}
		for _, value := range []string{"bogus", "-9223372036854775808", "1.5", ""} {
			want, got := redis.do("CONFIG", "SET", s.name, value), howdah.do("CONFIG", "SET", s.name, value)
			if s.refused && strings.HasPrefix(want, "+OK") {
				continue
			}
			if want != got {
				t.Errorf("CONFIG SET %s %q: %q, Redis %q", s.name, value, got, want)
			}
		}
	}
}

// TestClientLinesOfRedis compares the fields of CLIENT INFO and LIST with
// redis-server: their names, and the values that do not depend on the process.
func TestClientLinesOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, command := range [][]string{{"CLIENT", "INFO"}, {"CLIENT", "LIST"}, {"client", "list", "type", "normal"}} {
		want, got := clientFields(t, redis.do(command...)), clientFields(t, howdah.do(command...))
		for name, value := range want {
			shown, known := got[name]
			if !known {
				t.Errorf("%v: there is no %s", command, name)
			}
			switch name {
			case "id", "addr", "laddr", "fd", "age", "idle", "qbuf-free", "rbs", "rbp", "tot-mem":
				if shown == "" {
					t.Errorf("%v: %s is empty", command, name)
				}
			default:
				if shown != value {
					t.Errorf("%v: %s is %q, in Redis %q", command, name, shown, value)
				}
			}
		}
	}
}

func clientFields(t *testing.T, reply string) map[string]string {
	t.Helper()
	fields := make(map[string]string)
	for _, field := range strings.Fields(unbulk(reply)) {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			t.Fatalf("%q", reply)
		}
		fields[name] = value
	}
	return fields
}

// TestCommandListOfRedis compares the names of COMMAND LIST, which include
// subcommands, with redis-server.
func TestCommandListOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	want, got := elements(redis.do("COMMAND", "LIST")), elements(howdah.do("COMMAND", "LIST"))
	newer := make(map[string]bool)
	newTable().each(func(cmd *Command) { newer[bulk(cmd.fullName)] = cmd.Since >= "7.2" })
	subcommands := 0
	for _, name := range got {
		if strings.Contains(name, "|") {
			subcommands++
		}
		own := strings.Contains(name, "howdah.")
		if !newer[name] && !own && !slices.Contains(want, name) {
			t.Errorf("Redis has no %q", name)
		}
	}
	if subcommands < 40 {
		t.Errorf("%d subcommands are in the list", subcommands)
	}
	all := elements(howdah.do("COMMAND", "LIST", "FILTERBY", "PATTERN", "*"))
	if !slices.Equal(all, got) {
		t.Error("the list differs from that of all patterns")
	}
}
