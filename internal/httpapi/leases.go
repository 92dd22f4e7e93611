package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// wantsLease reads the preference lease (RFC 7240): for how long the client may
// load a value that is not there. 0: it was not asked for.
func wantsLease(r *http.Request) (time.Duration, error) {
	for preference := range strings.SplitSeq(fieldOf(r, "Prefer"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(preference), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "lease") {
			continue
		}
		lease, err := duration(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil || lease <= 0 || lease == verb.NoExpiry {
			return 0, problemf(badRequest, "Prefer: lease=%.50s is not valid: give the seconds that a load may take, such as lease=10.", value)
		}
		return lease, nil
	}
	return 0, nil
}

// claimEntry serves a GET that asks for a lease. Lease-State says what there is;
// Lease is the token of a client that is to load.
func (a *api) claimEntry(w http.ResponseWriter, r *http.Request, t target, lease time.Duration) error {
	call := &verb.Call{Verb: statement.Claim, Key: t.key, Lease: lease}
	if err := t.do(r.Context(), call); err != nil && !errors.Is(err, fault.ErrMiss) {
		return err
	}
	a.setCacheStatus(w, r, call)
	header, claim := w.Header(), &call.Claim
	header.Set("Preference-Applied", "lease")
	header.Set("Lease-State", claim.State.String())
	if claim.Won {
		header.Set("Lease", verb.FormatToken(call.Result.Version, claim.Snapshot))
	}
	if claim.Left > 0 {
		header.Set("Lease-Left", ttlSeconds(claim.Left))
	}
	switch claim.State {
	case verb.Stale:
		// As RFC 9211 has it: what is left of the life of a stale answer is negative.
		header.Set("Howdah-TTL", "-"+ttlSeconds(claim.Expired))
	case verb.Hit:
		header.Set("Howdah-TTL", ttlSeconds(call.Result.TTL))
	case verb.Lost:
		header.Set("Retry-After", "1")
		return fault.ErrMiss
	default:
		return fault.ErrMiss
	}
	return writeEntry(w, r, &call.Result)
}

// leaseOf reads the token of If-Lease, which stands instead of every other
// condition.
func leaseOf(r *http.Request) (t token, given bool, err error) {
	text := fieldOf(r, "If-Lease")
	if text == "" {
		return t, false, nil
	}
	if fieldOf(r, "If-Match") != "" || fieldOf(r, "If-None-Match") != "" {
		return t, true, problemf(badRequest, "Give If-Lease, or If-Match and If-None-Match, not both.")
	}
	if t.version, t.snapshot, err = verb.ParseToken(text); err != nil {
		return t, true, problemf(badRequest, "If-Lease: %.50s is no token; send what the header Lease of a GET said.", text)
	}
	return t, true, nil
}

// loaded is what a client stores under a lease.
type loaded struct {
	token  token
	ttl    time.Duration
	stale  time.Duration
	absent bool
	tags   []string
}

// token is that of a lease.
type token struct {
	version  int64
	snapshot string
}

// readLoaded reads the parameters that a PUT with If-Lease has beside its TTL.
func readLoaded(t token, ttl time.Duration, stale, absent string) (l loaded, err error) {
	l = loaded{token: t, ttl: ttl}
	if stale != "" {
		if l.stale, err = duration(stale); err != nil || l.stale < 0 {
			return l, problemf(invalidTTL, "stale=%.50q is not valid: give a Go duration such as 10m, or seconds.", stale)
		}
	}
	switch absent {
	case "", "false":
	case "true":
		l.absent = true
	default:
		return l, problemf(badRequest, "absent=%.50q is not true or false.", absent)
	}
	return l, nil
}

// storeLoaded stores what was loaded under a lease: 204, or 412 if the key was
// changed or removed meanwhile.
func storeLoaded(w http.ResponseWriter, r *http.Request, t target, value []byte, l loaded) error {
	call := &verb.Call{Verb: statement.Fulfil, Value: value, Token: l.token.version, Snapshot: l.token.snapshot, Tags: l.tags, Expiry: verb.ExpireIn(l.ttl), Stale: l.stale, Absent: l.absent}
	if err := leaseError(t.do(r.Context(), call)); err != nil {
		return err
	}
	if !l.absent {
		setVersion(w.Header(), call.Result.Version)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// releaseLease ends a lease whose load failed. The entry stays.
func releaseLease(w http.ResponseWriter, r *http.Request, t target, lease token) error {
	if err := leaseError(t.do(r.Context(), &verb.Call{Verb: statement.Release, Token: lease.version})); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// leaseError says of a condition on a lease why it is not met.
func leaseError(err error) error {
	if err == fault.ErrNotStored {
		return problemf(preconditionFailed, "The lease is not yours any more: the key was changed or removed, a tag was invalidated, or somebody else loads it now.")
	}
	return err
}
