package session

import "errors"

// Login makes this the session of a user, under a new token: whoever knew the
// old one, such as somebody who planted it, is out. A session of nobody keeps
// its payload; one of another user is ended, with what this request has set and
// not saved, and a new one started. Its Options.Lifetime begins anew.
//
// Errors: ErrUserLimit, ErrInvalidUser, ErrResponseBegun, those of the
// database.
func (c *Current) Login(user string) error {
	if err := checkUser(user); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	if c.begun {
		return ErrResponseBegun
	}
	return c.judge(c.login(user))
}

func (c *Current) login(user string) error {
	if c.session != nil && c.session.User != "" && c.session.User != user {
		if _, err := c.manager.End(c.writing(), c.session.token); err != nil {
			return err
		}
		c.session, c.fields, c.set, c.removed = nil, nil, nil, nil
	}
	if c.session != nil {
		s, err := c.manager.Rotate(c.writing(), c.session.token, Renewal{User: user, Restart: true})
		if err == nil {
			c.adopt(s)
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		// It ended since it was read. The user has proved who he is all the same.
	}
	return c.start(user)
}

// Renew gives the session a new token, and ends the old one: at a change of
// privilege other than login. Without a session it does nothing.
//
// Errors: ErrNotFound if the session ended meanwhile, ErrResponseBegun, those
// of the database.
func (c *Current) Renew() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil {
		return err
	}
	if c.begun {
		return ErrResponseBegun
	}
	s, err := c.manager.Rotate(c.writing(), c.session.token, Renewal{})
	if err == nil {
		c.adopt(s)
	}
	return c.judge(err)
}

// Logout ends the session. What was set and not saved is dropped. It works
// after the response has begun, too; the browser then keeps a dead cookie.
//
// Errors: those of the database: then the user may still be logged in.
func (c *Current) Logout() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil {
		return err
	}
	_, err := c.manager.End(c.writing(), c.session.token)
	if err == nil {
		c.dismiss()
	}
	return c.judge(err)
}

// LogoutEverywhere ends all sessions of the user, this one too, and returns how
// many. A session of nobody is just ended.
//
// Errors: those of the database: then some may be left.
func (c *Current) LogoutEverywhere() (ended int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil {
		return 0, err
	}
	if c.session.User == "" {
		_, err = c.manager.End(c.writing(), c.session.token)
		ended = 1
	} else {
		ended, err = c.manager.RevokeUser(c.writing(), c.session.User)
	}
	if err != nil {
		return 0, c.judge(err)
	}
	c.dismiss()
	return ended, nil
}

// LogoutOthers ends the user's other sessions and returns how many.
//
// Errors: those of the database: then some may be left.
func (c *Current) LogoutOthers() (ended int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil || c.session == nil || c.session.User == "" {
		return 0, err
	}
	ended, err = c.manager.RevokeOthers(c.writing(), c.session.User, c.session.ID)
	return ended, c.judge(err)
}

// dismiss forgets an ended session, and makes the browser forget it.
func (c *Current) dismiss() {
	c.session, c.fields, c.set, c.removed = nil, nil, nil, nil
	c.cookie = c.manager.opts.Cookie.gone()
}
