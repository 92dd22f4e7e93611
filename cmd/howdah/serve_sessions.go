package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/howdah/howdah/session"
)

// sessionSettings are the flags of "howdah serve" that tune its sessions. Their
// defaults are those of the library, said here for the help text.
type sessionSettings struct {
	idle, lifetime, flush, staleness durationFlag
	skip                             optionalDuration
	payload                          sizeFlag
	userLimit, missRate              int
	revokeOldest                     bool
	readURLs                         urlsFlag
}

func newSessionSettings() *sessionSettings {
	return &sessionSettings{
		idle:      durationFlag(30 * time.Minute),
		lifetime:  durationFlag(7 * 24 * time.Hour),
		flush:     durationFlag(30 * time.Second),
		staleness: durationFlag(5 * time.Second),
		payload:   64 << 10,
		missRate:  500,
	}
}

func (s *sessionSettings) add(f *pflag.FlagSet) {
	f.Var(&s.idle, "session-idle-timeout", "a session lives at least this time after each use; 0: for its whole lifetime")
	f.Var(&s.skip, "session-skip-window", "... and at most this much longer, because a use is not written again within it; 0: every use is written (default: a third of --session-idle-timeout)")
	f.Var(&s.lifetime, "session-lifetime", "a session ends this time after its start, even if it is in use")
	f.Var(&s.flush, "session-flush-interval", "time between two writes of the uses of sessions, in one batch")
	f.IntVar(&s.userLimit, "session-user-limit", 0, "most live sessions of one user; 0: no limit")
	f.BoolVar(&s.revokeOldest, "session-revoke-oldest", false, "at --session-user-limit revoke the oldest session instead of refusing the new one")
	f.Var(&s.payload, "session-max-payload", "size limit of the payload of a session, at most 1MiB")
	f.Var(&s.readURLs, "read-url", "standby of --database-url to read sessions from; repeat it for each, or separate them by commas")
	f.Var(&s.staleness, "session-max-staleness", "do not read from a standby that is further behind than this time")
	f.IntVar(&s.missRate, "session-miss-rate", s.missRate, "most tokens a second, unknown to a standby, that are looked up at the primary")
}

// options are those of the library.
func (s *sessionSettings) options() (session.Options, error) {
	o := session.Options{
		IdleTimeout: time.Duration(s.idle), SkipWindow: s.skip.value, Lifetime: time.Duration(s.lifetime),
		FlushInterval: time.Duration(s.flush), MaxStaleness: time.Duration(s.staleness),
		UserLimit: s.userLimit, RevokeOldest: s.revokeOldest,
		MaxPayloadBytes: int(s.payload), MissRate: s.missRate, ReadURLs: s.readURLs,
	}
	if s.idle == 0 {
		o.IdleTimeout = session.NoIdleTimeout
	}
	if s.skip.given && s.skip.value == 0 {
		o.SkipWindow = session.NoSkip
	}
	// 0 is a default in the library, and a mistake here.
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{{"lifetime", o.Lifetime}, {"flush-interval", o.FlushInterval}, {"max-staleness", o.MaxStaleness}, {"miss-rate", time.Duration(o.MissRate)}} {
		if f.value <= 0 {
			return o, usagef("--session-%s must be above zero", f.flag)
		}
	}
	if o.RevokeOldest && o.UserLimit == 0 {
		return o, usagef("--session-revoke-oldest is for --session-user-limit, which is not given")
	}
	if err := o.Validate(); err != nil {
		return o, usageError{fmt.Errorf("%s", asFlags.Replace(err.Error()))}
	}
	return o, nil
}

// asFlags makes what the library says of its options a sentence about flags.
var asFlags = strings.NewReplacer(
	"session: ", "",
	"Options.IdleTimeout", "--session-idle-timeout", "Options.SkipWindow", "--session-skip-window",
	"Options.Lifetime", "--session-lifetime", "Options.FlushInterval", "--session-flush-interval",
	"Options.MaxPayloadBytes", "--session-max-payload", "Options.UserLimit", "--session-user-limit",
	"Options.MaxStaleness", "--session-max-staleness",
)

// optionalDuration is a duration whose 0 is not its default.
type optionalDuration struct {
	given bool
	value time.Duration
}

func (d *optionalDuration) Type() string { return "duration" }

func (d *optionalDuration) String() string {
	if !d.given {
		return ""
	}
	return d.value.String()
}

func (d *optionalDuration) Set(text string) error {
	if err := (*durationFlag)(&d.value).Set(text); err != nil {
		return err
	}
	d.given = true
	return nil
}

// urlsFlag is a list of database URLs. A comma separates two of them only where
// a new one begins: within one it separates hosts.
type urlsFlag []string

func (u *urlsFlag) Type() string   { return "urls" }
func (u *urlsFlag) String() string { return "" } // they hold passwords

func (u *urlsFlag) Set(text string) error {
	for {
		next := nextURL.FindStringIndex(text)
		if next == nil {
			*u = append(*u, strings.TrimSpace(text))
			return nil
		}
		*u = append(*u, strings.TrimSpace(text[:next[0]]))
		text = text[next[0]+1:]
	}
}

var nextURL = regexp.MustCompile(`,\s*postgres(ql)?://`)
