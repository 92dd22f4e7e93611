package redisapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
)

// TestSave: SAVE and BGSAVE succeed where a crash of PostgreSQL keeps what they are told to save.
func TestSave(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	const refused = "-ERR nothing can save db0: a crash of PostgreSQL empties caches of class unlogged; run howdah caches alter db0 --durability async\r\n"
	s.engine.saved.Store(1)
	c.want(resp.OK, "SET", "k", "v")
	c.want(refused, "SAVE")
	c.want(refused, "BGSAVE")
	c.want(":1\r\n", "LASTSAVE")
	if err := s.db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db0", Durability: howdah.Async}, howdah.AlterOptions{Only: []string{"durability"}}); err != nil {
		t.Fatal(err)
	}
	c.want(resp.OK, "SAVE")
	saved, _ := strconv.ParseInt(strings.TrimSpace(c.do("LASTSAVE")[1:]), 10, 64)
	if saved <= 1 {
		t.Errorf("LASTSAVE after SAVE: %d", saved)
	}
	if shown := infoFields(t, c.do("INFO", "persistence"))["rdb_last_save_time"]; shown != strconv.FormatInt(saved, 10) {
		t.Errorf("rdb_last_save_time is %s, LASTSAVE %d", shown, saved)
	}
	s.engine.saved.Store(1)
	c.want("+Background saving started\r\n", "BGSAVE", "SCHEDULE")
	if c.do("LASTSAVE") == ":1\r\n" {
		t.Error("BGSAVE does not count as a save")
	}
	c.want(resp.OK, "MULTI")
	c.want("-ERR Command not allowed inside a transaction\r\n", "SAVE")
}

// TestUsers: what would change the one user is refused without showing a password.
func TestUsers(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{Password: "secret"}).addr())
	c.want("-NOAUTH Authentication required.\r\n", "ACL", "LIST")
	c.want(resp.OK, "AUTH", "secret")
	c.want(resp.OK, "ACL", "SETUSER", "default", "on", ">secret", "~*", "+@all")
	for rule, shown := range map[string]string{"nopass": "nopass", ">other": ">***", "#" + strings.Repeat("0", 64): "#***", "off": "off", "-@all": "-@all"} {
		c.want("-ERR Error in ACL SETUSER modifier '"+shown+"': "+whereUsersAre+"\r\n", "ACL", "SETUSER", "default", rule)
	}
	c.want("-ERR "+whereUsersAre+"\r\n", "ACL", "SETUSER", "ann", "on", ">secret")
	if reply := c.do("LOLWUT"); !strings.Contains(reply, "Redis ver. "+CompatibleVersion+", Howdah ver. dev") {
		t.Errorf("LOLWUT: %q", reply)
	}
}
