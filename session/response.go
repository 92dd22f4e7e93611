package session

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
)

// response saves the session before the first byte leaves, and puts the error
// handler's answer in the place of the handler's if the session is in doubt.
// http.ResponseController reaches what is below through Unwrap.
type response struct {
	http.ResponseWriter
	current  *Current
	begun    bool
	replaced error // the response is the error handler's
}

func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader lets informational responses pass: the real one is to come.
func (w *response) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		if w.begin(); w.replaced != nil {
			return
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.begin(); w.replaced != nil {
		return 0, w.replaced
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom keeps the way open on which files are sent without copying.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	if w.begin(); w.replaced != nil {
		return 0, w.replaced
	}
	return io.Copy(w.ResponseWriter, r)
}

// FlushError is what http.ResponseController calls for Flush.
func (w *response) FlushError() error {
	if w.begin(); w.replaced != nil {
		return w.replaced
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush serves handlers that ask for an http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// Hijack hands the connection over after the session was saved. A cookie that
// is to be set is in Header(), for the hijacker to send.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.begin(); w.replaced != nil {
		return nil, nil, w.replaced
	}
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// begin does what must be done before the headers leave, once.
func (w *response) begin() {
	if w.begun {
		return
	}
	w.begun = true
	c := w.current
	c.mu.Lock()
	err := c.doubt
	if err == nil {
		err = c.save()
	}
	c.begun, c.doubt = true, err
	w.setHeaders(c)
	c.mu.Unlock()
	if err == nil {
		return
	}
	w.replaced = err
	for _, name := range []string{
		"Content-Length", "Content-Type", "Content-Encoding", "Content-Range", "Content-Disposition",
		"Etag", "Last-Modified", "Location", "Cache-Control",
	} {
		w.Header().Del(name)
	}
	c.manager.opts.ErrorHandler(w.ResponseWriter, c.request, err)
}

// setHeaders keeps caches from giving one user's response to another. A new
// token is sent even with an error: the old one is dead.
func (w *response) setHeaders(c *Current) {
	h := w.Header()
	if c.cookie != nil {
		h.Add("Set-Cookie", c.cookie.String())
	}
	if !c.consulted {
		return
	}
	if !lists(h, "Vary", "Cookie") {
		h.Add("Vary", "Cookie")
	}
	private := lists(h, "Cache-Control", "private") || lists(h, "Cache-Control", "no-store")
	if h.Get("Cache-Control") == "" || c.cookie != nil && !private {
		h.Set("Cache-Control", "private, no-cache")
	}
}

// lists tells whether a header that is a list holds this element. One that only
// contains it is another: X-Cookie-Consent, or private="Set-Cookie".
func lists(h http.Header, name, element string) bool {
	for _, other := range strings.Split(strings.Join(h.Values(name), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(other), element) {
			return true
		}
	}
	return false
}

// finish ends the request: it begins a response that nobody wrote, or saves
// what was set after the response had begun.
func (w *response) finish() {
	w.begin()
	c := w.current
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubt != nil {
		return
	}
	if err := c.save(); err != nil {
		c.manager.opts.Logger.Error("session: changes made after the response had begun were not saved", "error", err)
	}
}
