package transfer

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Address is where a Redis server is.
type Address struct {
	Host           string      // with the port
	TLS            *tls.Config // nil: without TLS
	User, Password string      // "": none
	Database       int         // that the URL names, else 0
	Named          bool        // the URL names a database
}

// IsAddress reports whether a text is meant as the URL of a server and not as the name of a file.
func IsAddress(text string) bool { return strings.Contains(text, "://") }

// ParseAddress reads redis://[[user]:password@]host[:port][/database], or rediss:// for TLS. The
// error does not repeat the text, which may hold a password.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, errors.New("the URL of the source cannot be read: it looks like redis://[user:password@]host:port[/database]; write special characters of the password as %XX")
	case u.Scheme == "postgres" || u.Scheme == "postgresql":
		return Address{}, errors.New("the source is a PostgreSQL database: \"howdah export\" writes its caches to a file, which \"howdah import\" reads")
	case u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return Address{}, errors.New("the URL of the source looks like redis://[user:password@]host:port[/database], with rediss:// for TLS")
	}
	a := Address{Host: u.Host, User: u.User.Username()}
	a.Password, _ = u.User.Password()
	if u.Port() == "" {
		a.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	if u.Scheme == "rediss" {
		a.TLS = &tls.Config{ServerName: u.Hostname()}
	}
	if number := strings.Trim(u.Path, "/"); number != "" {
		a.Named = true
		if a.Database, err = strconv.Atoi(number); err != nil || a.Database < 0 {
			return Address{}, errors.New("the path of the URL of the source is the number of a database, as in redis://host:port/1")
		}
	}
	return a, nil
}

// String returns the URL without its secrets and database.
func (a Address) String() string {
	if a.TLS != nil {
		return "rediss://" + a.Host
	}
	return "redis://" + a.Host
}
