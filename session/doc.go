// Package session keeps the sessions of users in PostgreSQL: safe by default,
// one row each, listed and revoked by user, alive after a failover.
//
//	manager, err := session.New(db, nil)
//	go manager.Run(ctx)
//	http.ListenAndServe(addr, manager.Middleware(mux))
//
//	// in a handler
//	s := session.From(r.Context())
//	err := s.Login("user-7")    // a new token; the old one is dead
//	err = s.Set("theme", "dark")
//	user, err := s.User()
//
// # Tokens
//
// A token is base64url(id || secret). The id is a UUID of version 7; it is
// public and authorises nothing. The secret is 32 bytes from crypto/rand. The
// database holds its SHA-256 and never sees the secret itself. A token that is
// not of this form is refused without asking the database.
//
// # Lifetime
//
// A session lives at least Options.IdleTimeout after each use, and ends at the
// latest Options.SkipWindow after that, or Options.Lifetime after its login.
// The clock is that of the database.
//
// A read is a SELECT. A use that the row's expiry does not cover yet is kept in
// memory and written with all others every Options.FlushInterval, in one
// statement; a write covers the uses of the next SkipWindow in advance, so that
// most uses are never written. A process that is lost (killed, not stopped)
// forgets the uses of its last interval: those sessions count as last used when
// the row says so. Sessions so close to their end that the next flush may come
// too late are written at once.
//
// # Standbys
//
// With Options.ReadURLs reads are answered by standbys, as long as what they
// show is not older than Options.MaxStaleness; all else goes to the primary.
// What a Manager has changed shows in its own reads at once.
//
// # When the database is away
//
// A session is never served from doubt: every method returns an error, and the
// middleware answers 503. The user is neither logged in nor logged out.
package session
