package session

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"time"
)

// NoIdleTimeout as Options.IdleTimeout: sessions live their whole Lifetime,
// used or not.
const NoIdleTimeout time.Duration = -1

// NoSkip as Options.SkipWindow: every use is written, in batches, and sessions
// do not outlive their idle timeout.
const NoSkip time.Duration = -1

// What the database can keep, and what anybody can want.
const (
	day     = 24 * time.Hour
	longest = 30 * 365 * day
)

// Options tune a Manager. The zero value of every field is its default.
type Options struct {
	// IdleTimeout is how long a session lives after each use, at least; in
	// whole seconds, rounded up. Default 30 minutes; NoIdleTimeout for none. At
	// most 30 years, as SkipWindow and Lifetime; all other times at most a day.
	IdleTimeout time.Duration

	// SkipWindow is how far in advance a write covers later uses, and so how
	// much longer than IdleTimeout an unused session may live. Default a third
	// of IdleTimeout; NoSkip for none.
	SkipWindow time.Duration

	// Lifetime is when a session ends however much it is used, counted from
	// its creation or last login. Default 7 days.
	Lifetime time.Duration

	// FlushInterval is how often Run writes the uses kept in memory, and so
	// what a lost process forgets. Default 30 seconds.
	FlushInterval time.Duration

	// ExpireInterval is how often Run removes expired sessions. Default a
	// minute. Expired sessions are never served, removed or not.
	ExpireInterval time.Duration

	// MaxPayloadBytes bounds a payload. Default 64 KiB, at most 1 MiB.
	MaxPayloadBytes int

	// UserLimit is how many live sessions a user may have. Default 0: any
	// number. At most 2147483647.
	UserLimit int

	// RevokeOldest says what happens at the limit. Default: the new session is
	// refused with ErrUserLimit. True: the oldest is revoked.
	RevokeOldest bool

	// Timeout bounds a call whose context has no earlier deadline. Default
	// 500 ms.
	Timeout time.Duration

	// ReadURLs are standbys that answer reads, as long as Run runs: URLs or
	// key=value strings. A read that none of them can answer for certain goes
	// to the primary. Each has a pool of its own, as large as the primary's.
	// Default: none.
	ReadURLs []string

	// MaxStaleness is how old an answer of a standby may be at most, hence how
	// long a session may still be served after another process has revoked or
	// rotated it, or has saved another payload. Default 5 seconds. Five
	// heartbeats are written within it.
	MaxStaleness time.Duration

	// MissRate is how many tokens a second, that a standby does not know, the
	// primary is asked about. Beyond it the answer is howdah.ErrOverloaded: a
	// flood of forged tokens stays away from the primary. Default 500.
	MissRate int

	// Cookie is the cookie that the middleware sets.
	Cookie Cookie

	// OmitClient keeps the client's address and user agent out of new sessions.
	OmitClient bool

	// ClientIP finds the client's address. Default: that of the connection.
	// Behind a proxy, read the header that the proxy sets, and only that.
	ClientIP func(*http.Request) netip.Addr

	// ErrorHandler answers a request whose session could not be read or
	// saved. Default: 503 with Retry-After if the database is away, 401 if the
	// session ended meanwhile, else 500.
	ErrorHandler func(http.ResponseWriter, *http.Request, error)

	// Logger hears of what goes wrong where no caller is to be told. No secret
	// gets there. Default: nobody.
	Logger *slog.Logger
}

// Validate says what New would find wrong, but for ReadURLs, which it does not
// read.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults validates and fills in. It accepts nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	for _, d := range []struct {
		name                   string
		field                  *time.Duration
		def, none, least, most time.Duration
	}{
		{"IdleTimeout", &out.IdleTimeout, 30 * time.Minute, NoIdleTimeout, time.Second, longest},
		{"SkipWindow", &out.SkipWindow, 0, NoSkip, 0, longest},
		{"Lifetime", &out.Lifetime, 7 * 24 * time.Hour, 0, time.Second, longest},
		{"FlushInterval", &out.FlushInterval, 30 * time.Second, 0, time.Millisecond, day},
		{"ExpireInterval", &out.ExpireInterval, time.Minute, 0, time.Millisecond, day},
		{"Timeout", &out.Timeout, 500 * time.Millisecond, 0, time.Millisecond, day},
		{"MaxStaleness", &out.MaxStaleness, 5 * time.Second, 0, 50 * time.Millisecond, day},
	} {
		if *d.field == 0 {
			*d.field = d.def
		}
		if (*d.field < d.least || *d.field > d.most) && (d.none == 0 || *d.field != d.none) {
			return out, fmt.Errorf("session: Options.%s is %v; it must be between %v and %v", d.name, *d.field, d.least, d.most)
		}
	}
	if out.MaxPayloadBytes == 0 {
		out.MaxPayloadBytes = 64 << 10
	}
	if out.MaxPayloadBytes < 2 || out.MaxPayloadBytes > 1<<20 {
		return out, fmt.Errorf("session: Options.MaxPayloadBytes is %d; it must be between 2 and %d", out.MaxPayloadBytes, 1<<20)
	}
	if out.UserLimit < 0 || out.UserLimit > math.MaxInt32 {
		return out, fmt.Errorf("session: Options.UserLimit is %d; it must be between 0 and %d", out.UserLimit, math.MaxInt32)
	}
	if out.MissRate == 0 {
		out.MissRate = 500
	}
	if out.MissRate < 1 {
		return out, fmt.Errorf("session: Options.MissRate is %d; it must be at least 1", out.MissRate)
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.ClientIP == nil {
		out.ClientIP = connectionIP
	}
	if out.ErrorHandler == nil {
		out.ErrorHandler = defaultErrorHandler
	}
	err := out.Cookie.complete()
	return out, err
}

// connectionIP is the address of the peer, which is the client if there is no
// proxy.
func connectionIP(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // a Unix socket has none
	return peer.Addr().Unmap()
}
