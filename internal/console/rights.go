package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// right is what a visitor may do. A visitor may have several.
type right uint8

const (
	view    right = 1 << iota // figures, settings, masked keys
	manage                    // values, whole keys, and changes of caches and entries
	persons                   // the sessions of users

	anyone right = 0
)

// has says whether the visitor may do what needs r.
func (have right) has(r right) bool { return have&r == r }

// key proves one kind of token. The token itself is not kept.
type key struct {
	kind   string // in the names of cookies and in the audit lines
	rights right
	token  [sha256.Size]byte // digest
	cookie []byte            // signs cookies
	ticket []byte            // signs links that log in once
}

func newKeys(o Options) []*key {
	var keys []*key
	for _, k := range []struct {
		kind, token string
		rights      right
	}{{"admin", o.Token, view | manage}, {"viewer", o.ViewerToken, view}, {"sessions", o.SessionToken, persons}} {
		if k.token != "" {
			keys = append(keys, newKey(k.kind, k.token, k.rights))
		}
	}
	return keys
}

func newKey(kind, token string, rights right) *key {
	return &key{
		kind: kind, rights: rights, token: sha256.Sum256([]byte(token)),
		cookie: sign([]byte(token), "howdah console cookie"), ticket: sign([]byte(token), "howdah console ticket"),
	}
}

// sign is the HMAC of a text.
func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// matching returns the key of a token, or nil. Its time says nothing about the tokens that
// there are.
func (c *Console) matching(token string) *key {
	digest := sha256.Sum256([]byte(token))
	var found *key
	for _, k := range c.keys {
		if subtle.ConstantTimeCompare(digest[:], k.token[:]) == 1 {
			found = k
		}
	}
	return found
}

// visitor is who sent a request.
type visitor struct {
	rights right
	role   string // for people and audit lines: "admin", "viewer", "viewer, sessions", ...
}

// loginLifetime is how long a login lasts.
const loginLifetime = 12 * time.Hour

// visitor finds the rights that the cookies of a request prove. Every server with the same
// token accepts them, and a new token ends them.
func (c *Console) visitor(r *http.Request) visitor {
	var v visitor
	var roles []string
	if c.open {
		v.rights, roles = view|manage, []string{"admin"}
	}
	for _, k := range c.keys {
		if !v.rights.has(k.rights) && c.valid(k, cookieValue(r, k.kind)) {
			v.rights |= k.rights
			roles = append(roles, k.kind)
		}
	}
	v.role = strings.Join(roles, ", ")
	return v
}

// newLogin is the value of a cookie: the time, and its signature.
func (c *Console) newLogin(k *key) string {
	issued := strconv.FormatInt(c.now().Unix(), 10)
	return issued + "." + encode(sign(k.cookie, k.kind+"."+issued))
}

func (c *Console) valid(k *key, value string) bool {
	issued, mac, ok := strings.Cut(value, ".")
	seconds, err := strconv.ParseInt(issued, 10, 64)
	if !ok || err != nil || !hmac.Equal([]byte(mac), []byte(encode(sign(k.cookie, k.kind+"."+issued)))) {
		return false
	}
	age := c.now().Sub(time.Unix(seconds, 0))
	return age >= -time.Minute && age < loginLifetime // clocks of servers differ a little
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// The names of cookies. A browser sends one with a prefix back over TLS only, and __Host-
// keeps other hosts of the domain from setting it.
const (
	hostPrefix   = "__Host-"
	securePrefix = "__Secure-"
	cookiePrefix = "howdah-"
)

// cookieValue returns the value of a cookie by whichever name it was set.
func cookieValue(r *http.Request, kind string) string {
	for _, prefix := range []string{hostPrefix, securePrefix, ""} {
		if cookie, err := r.Cookie(prefix + cookiePrefix + kind); err == nil {
			return cookie.Value
		}
	}
	return ""
}

// setCookie gives the browser a cookie, or takes it away if maxAge is negative.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, kind, value string, maxAge time.Duration) {
	cookie := &http.Cookie{
		Name: cookiePrefix + kind, Value: value, Path: c.base + Prefix,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(maxAge.Seconds()),
	}
	switch {
	case !overTLS(r):
	case c.base == "":
		cookie.Name, cookie.Path, cookie.Secure = hostPrefix+cookie.Name, "/", true
	default:
		cookie.Name, cookie.Secure = securePrefix+cookie.Name, true
	}
	http.SetCookie(w, cookie)
}

// overTLS says whether the browser speaks TLS, with this server or with a proxy before it,
// which the Origin tells that browsers send with every POST.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}
