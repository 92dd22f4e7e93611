package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// Current is the session of one request. Its payload is a JSON object, whose
// fields handlers get and set; requests that run at the same time change their
// own fields only and lose none of each other's. It is safe for concurrent use
// while the request is handled.
//
// An error of the database that a method returns is also the fate of the
// response (see Middleware), so handlers may simply return.
type Current struct {
	manager *Manager
	request *http.Request

	mu        sync.Mutex
	consulted bool     // the response depends on the cookie
	loaded    bool     // session is what the database said
	session   *Session // nil: none
	fields    map[string]json.RawMessage
	set       map[string]json.RawMessage
	removed   map[string]bool
	cookie    *http.Cookie // to be sent
	begun     bool         // the response's headers are gone
	doubt     error        // what is known of the session is not certain
}

// Session returns the session, or nil if there is none.
//
// Errors: those of the database.
func (c *Current) Session() (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil {
		return nil, err
	}
	s := *c.session
	return &s, nil
}

// User returns who has logged in, "" for nobody.
//
// Errors: those of the database.
func (c *Current) User() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil {
		return "", err
	}
	return c.session.User, nil
}

// Get reads a field into what value points to, as json.Unmarshal does, and
// says whether there is one.
//
// Errors: ErrNotJSON if the payload is no JSON object, the error of
// json.Unmarshal, those of the database.
func (c *Current) Get(field string, value any) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return false, err
	}
	raw, ok := c.set[field]
	if !ok && !c.removed[field] && c.session != nil {
		if err := c.decode(); err != nil {
			return false, err
		}
		raw, ok = c.fields[field]
	}
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return true, fmt.Errorf("session: field %q: %w", field, err)
	}
	return true, nil
}

// Set sets a field to anything that json.Marshal takes and CheckJSON does not
// refuse. It starts a session if there is none. It is saved before the response
// begins; if it has begun, at the end of the request.
//
// Errors: ErrNotJSON, ErrResponseBegun if a session would have to be started,
// those of the database.
func (c *Current) Set(field string, value any) error {
	raw, err := marshal(value)
	if err != nil {
		return fmt.Errorf("%w: field %q: %w", ErrNotJSON, field, err)
	}
	if _, err := object(map[string]json.RawMessage{field: raw}); err != nil {
		return fmt.Errorf("%w (field %q)", err, field)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	if c.session == nil && c.begun {
		return ErrResponseBegun
	}
	if c.set == nil {
		c.set = make(map[string]json.RawMessage)
	}
	c.set[field] = raw
	return nil
}

// Remove removes a field. One that is not there is no error.
func (c *Current) Remove(field string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	delete(c.set, field)
	if c.session == nil {
		return nil
	}
	if c.removed == nil {
		c.removed = make(map[string]bool)
	}
	c.removed[field] = true
	return nil
}

// Save saves now what would be saved before the response begins.
//
// Errors: ErrNotFound if the session ended meanwhile, ErrPayloadTooLarge,
// ErrNotJSON, those of the database.
func (c *Current) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubt != nil {
		return c.doubt
	}
	return c.judge(c.save())
}

// save is Save without the lock.
func (c *Current) save() error {
	if len(c.set) == 0 && len(c.removed) == 0 {
		return nil
	}
	if c.session == nil {
		return c.start("")
	}
	var removed []string
	for field := range c.removed {
		removed = append(removed, field)
	}
	payload, version, err := c.manager.Merge(c.writing(), c.session.token, c.set, removed...)
	if err != nil {
		return err
	}
	c.session.Payload, c.session.Version = payload, version
	c.set, c.removed, c.fields = nil, nil, nil
	return nil
}

// start starts a session with the fields set so far.
func (c *Current) start(user string) error {
	if c.begun {
		return ErrResponseBegun
	}
	start := Start{User: user}
	if len(c.set) > 0 {
		payload, err := object(c.set)
		if err != nil {
			return err
		}
		start.Payload = payload
	}
	if !c.manager.opts.OmitClient {
		start.IP, start.UserAgent = c.manager.opts.ClientIP(c.request), c.request.UserAgent()
	}
	s, err := c.manager.Create(c.writing(), start)
	if err != nil {
		return err
	}
	c.adopt(s)
	c.set, c.removed = nil, nil
	return nil
}

// adopt makes s the session of the browser too.
func (c *Current) adopt(s *Session) {
	c.session, c.fields = s, nil
	c.cookie = c.manager.opts.Cookie.of(s)
}

// load reads the session, once. A token that stands for none is not an error,
// and its cookie is left alone: it may be the old one of a login whose answer,
// with the new cookie, is on its way.
func (c *Current) load() error {
	c.consulted = true
	if c.doubt != nil || c.loaded {
		return c.doubt
	}
	c.loaded = true
	token, ok := c.manager.cookieToken(c.request)
	if !ok {
		return nil
	}
	s, err := c.manager.Get(c.request.Context(), token)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	c.session, c.doubt = s, err
	return err
}

// decode reads the fields of the payload.
func (c *Current) decode() error {
	if c.fields != nil || len(c.session.Payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.session.Payload, &c.fields); err != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return nil
}

// judge keeps errors that leave doubt, for the response. Those that say what
// the caller did wrong leave none: nothing was changed.
func (c *Current) judge(err error) error {
	for _, certain := range []error{nil, ErrUserLimit, ErrInvalidUser, ErrPayloadTooLarge, ErrNotJSON, ErrResponseBegun} {
		if errors.Is(err, certain) {
			return err
		}
	}
	c.doubt = err
	return err
}

// writing is the context of changes: a browser that has gone away must not
// leave them half done. Options.Timeout bounds them.
func (c *Current) writing() context.Context { return context.WithoutCancel(c.request.Context()) }
