package httpapi

import (
	"io"
	"net/http"
	"strings"
)

// welcomePage is what a person sees who opens the server in a browser. It
// holds nothing worth a token.
const welcomePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Howdah</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color: #222; background: #fff }
pre { overflow-x: auto; padding: .6rem .8rem; background: #f3f3f3 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } pre { background: #262626 } a { color: #9bf } }
</style>
<h1>Howdah is running</h1>
<p>This is the HTTP interface of a cache and session store on PostgreSQL. Redis clients use another port.</p>
<pre>curl -X POST 'http://127.0.0.1:8080/set?key=greeting&amp;ttl=10m' --data-binary hello
curl 'http://127.0.0.1:8080/get?key=greeting'</pre>
<ul>
<li><a href="/v1/caches">/v1/caches</a>: the caches and their settings
<li><a href="/metrics">/metrics</a>: metrics for Prometheus
<li><a href="/readyz">/readyz</a>: whether the database answers
<li><a href="https://github.com/howdah/howdah/blob/main/docs/http.md">docs/http.md</a>: all routes
</ul>
<p>If the server was started with a token, the first two ask for it.</p>
`

// AsksForPage says whether a browser opens the root of the server.
func AsksForPage(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (a *api) welcome(w http.ResponseWriter, r *http.Request) error {
	if !AsksForPage(r) {
		return noRoute(r)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, welcomePage) // a browser that has left needs none
	return nil
}
