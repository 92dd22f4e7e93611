package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Guard implements Handler.
func (a *api) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.admitted(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// admitted begins every answer, and ends it if the request is refused.
func (a *api) admitted(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	err := a.admit(r)
	if err != nil {
		a.fail(w, r, err)
	}
	return err == nil
}

// admit refuses requests without the token, and requests that a browser makes
// for the page of another site. The routes of sessions ask for tokens of their
// own; the page for people needs none.
func (a *api) admit(r *http.Request) error {
	if a.token != nil && !belowSessions(r) && !AsksForPage(r) && !bears(r, a.token) {
		a.unauthorized.Add(1)
		return problemf(unauthorized, "Send the server's token: Authorization: Bearer <token>.")
	}
	if !a.KnownHost(r) {
		return problemf(foreignHost, "Host %.100q is not served. Use localhost or the listener's address, or let the server allow this host.", r.Host)
	}
	if foreignSite(r) {
		return problemf(foreignOrigin, "Pages of other sites may not use this server. Call it from a program, or from a page that it serves.")
	}
	return nil
}

// bears tells whether the request shows a token. It compares digests, so that
// the time taken tells neither the token's length nor how much of it was right.
func bears(r *http.Request, digest *[sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(bearer(r)))
	return subtle.ConstantTimeCompare(sum[:], digest[:]) == 1
}

// bearer is the token that the request shows, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

// KnownHost implements Handler. A token is proof enough, unless hosts are named.
func (a *api) KnownHost(r *http.Request) bool {
	return a.token != nil && len(a.allowedHosts) == 0 || a.ownHost(r)
}

// ownHost tells whether the request is addressed to a name of this server.
// An attacker's page can have its own name resolve to this machine; it cannot
// have the browser send another.
func (a *api) ownHost(r *http.Request) bool {
	host := strings.ToLower(strings.TrimSuffix(hostname(r.Host), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	for _, allowed := range a.allowedHosts {
		if strings.EqualFold(host, allowed) {
			return true
		}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	return addr.IsLoopback() || addr == localAddr(r)
}

// localAddr is the address that the connection came in on.
func localAddr(r *http.Request) netip.Addr {
	if tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// foreignSite tells whether a browser sent the request for a page of another
// origin. Programs send neither header. No CORS header is ever answered.
//
// What the browser says itself comes first: a proxy that gives the request another Host
// makes its Origin look foreign.
func foreignSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	case "same-origin", "none":
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

// hostname is a Host header without the port and the brackets of IPv6.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
