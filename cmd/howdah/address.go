package main

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/redisapi"
)

// address is where a server is, as a URL says it.
type address struct {
	host     string // with the port
	secure   bool   // TLS
	user     *url.Userinfo
	database string // the number of the database; "" if the URL names none

	offered     bool   // the password is not of the URL: a server that asks for none need not take it
	certificate string // SHA-256 of the certificate that it must show, as hexadecimal digits; "": the usual checks
}

// parseServer reads the value of --server.
func parseServer(server string) (address, error) {
	if !strings.Contains(server, "://") {
		server = "redis://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return address{}, usagef("--server must look like redis://[:password@]host:port[/database]")
	}
	a := address{host: u.Host, secure: u.Scheme == "rediss", user: u.User, database: strings.Trim(u.Path, "/")}
	if u.Port() == "" {
		a.host = net.JoinHostPort(u.Hostname(), "6379")
	}
	if a.database != "" && !isDatabase(a.database) {
		return address{}, usagef("--server names the database %.50q: give a number from 0 to %d, as in redis://host:port/1", a.database, redisapi.Databases-1)
	}
	return a, nil
}

// choose returns the number of the database to select: that of the cache if
// one is named, else that of the URL, else 0.
func (a address) choose(cache string) (string, error) {
	if cache == "" {
		return cmp.Or(a.database, "0"), nil
	}
	number, ok := strings.CutPrefix(cache, "db")
	switch {
	case !ok || !isDatabase(number):
		return "", usagef("--cache %q is not one that a server serves (db0 to db%d): use --database-url to work on it directly", cache, redisapi.Databases-1)
	case a.database != "" && a.database != number:
		return "", usagef("--server names database %s, and --cache names %s: give one of them", a.database, cache)
	}
	return number, nil
}

// isDatabase says whether the text is the number of a Redis database, written
// in the usual way.
func isDatabase(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n < redisapi.Databases && strconv.Itoa(n) == text
}
