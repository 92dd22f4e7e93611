package redisapi

import (
	"math"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/verb"
)

// setOptions are the options of SET and GETEX.
type setOptions struct {
	condition verb.Condition
	get       bool
	keepTTL   bool
	persist   bool
	unit      expiryUnit
	amount    []byte
}

// expiryUnit is the notation of an expiry: EX, PX, EXAT or PXAT; 0 if there is
// none.
type expiryUnit uint8

const (
	unitGiven   expiryUnit = 1 << iota // PX
	unitSeconds                        // EX
	unitInstant                        // PXAT, with unitSeconds EXAT
)

// parseSetOptions parses options in any order, as Redis's
// parseExtendedStringArgumentsOrReply does. set is true for SET, false for GETEX.
func parseSetOptions(args [][]byte, set bool) (o setOptions, err error) {
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case set && is(word, "NX") && o.condition != verb.IfPresent:
			o.condition = verb.IfAbsent
		case set && is(word, "XX") && o.condition != verb.IfAbsent:
			o.condition = verb.IfPresent
		case set && is(word, "GET"):
			o.get = true
		case set && is(word, "KEEPTTL") && o.unit == 0:
			o.keepTTL = true
		case !set && is(word, "PERSIST") && o.unit == 0:
			o.persist = true
		default:
			unit := expiryOption(word)
			if unit == 0 || o.unit != 0 && o.unit != unit || o.keepTTL || o.persist || i+1 == len(args) {
				return o, errSyntax
			}
			i++
			o.unit, o.amount = unit, args[i]
		}
	}
	return o, nil
}

func expiryOption(word []byte) expiryUnit {
	switch {
	case is(word, "EX"):
		return unitGiven | unitSeconds
	case is(word, "PX"):
		return unitGiven
	case is(word, "EXAT"):
		return unitGiven | unitInstant | unitSeconds
	case is(word, "PXAT"):
		return unitGiven | unitInstant
	}
	return 0
}

// is reports whether word is the option, in upper or lower case.
func is(word []byte, option string) bool {
	return len(word) == len(option) && strings.EqualFold(string(word), option)
}

// expiry checks the amount as Redis does for the named command.
func (o *setOptions) expiry(command string) (verb.Expiry, error) {
	if o.unit == 0 {
		return verb.Expiry{}, nil
	}
	amount, err := parseInt(o.amount)
	if err != nil {
		return verb.Expiry{}, err
	}
	if amount <= 0 {
		return verb.Expiry{}, invalidExpiry(command)
	}
	return expiryOf(amount, o.unit, command)
}

func invalidExpiry(command string) refusal {
	return refusal("ERR invalid expire time in '" + command + "' command")
}

// expiryOf returns the expiry after an amount of time, or at a timestamp. An amount
// that is not positive gives a timestamp in the past. The limits are those of
// Redis, which calculates in milliseconds of 64 bits.
func expiryOf(amount int64, unit expiryUnit, command string) (verb.Expiry, error) {
	if unit&unitSeconds != 0 {
		if amount > math.MaxInt64/1000 || amount < math.MinInt64/1000 {
			return verb.Expiry{}, invalidExpiry(command)
		}
		amount *= 1000
	}
	if unit&unitInstant != 0 {
		return verb.ExpireAtMilli(amount), nil
	}
	now := time.Now().UnixMilli()
	if amount > math.MaxInt64-now {
		return verb.Expiry{}, invalidExpiry(command)
	}
	if amount <= 0 {
		return verb.ExpireAtMilli(0), nil
	}
	if amount > maxTTL {
		return verb.ExpireAtMilli(now + amount), nil // centuries: a difference of the clocks does not matter
	}
	return verb.ExpireIn(time.Duration(amount) * time.Millisecond), nil
}

// maxTTL is the longest TTL that is passed as a time.Duration, in milliseconds: 200 years.
const maxTTL = 200 * 365 * 24 * 3600 * 1000
