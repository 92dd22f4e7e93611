package values

import (
	"fmt"
	"math"
)

func stringOptionCommands() []Command {
	return []Command{
		{Name: "set", Arity: -3, Flags: "write denyoom", Since: "1.0.0", Run: set},
		{Name: "setex", Arity: 4, Flags: "write denyoom", Since: "2.0.0", Run: setWithTTL(1000)},
		{Name: "psetex", Arity: 4, Flags: "write denyoom", Since: "2.6.0", Run: setWithTTL(1)},
		{Name: "getex", Arity: -2, Flags: "write fast", Since: "6.2.0", Run: getex},
		{Name: "msetex", Arity: -4, Flags: "write denyoom movablekeys", Since: "8.4.0", NumKeys: 1, KeyStep: 2, Run: msetex},
		{Name: "delex", Arity: -2, Flags: "write fast", Since: "8.4.0", Run: delex},
		{Name: "delifeq", Arity: 3, Flags: "write fast", Since: "9.0.0", Run: delifeq},
		{Name: "digest", Arity: 2, Flags: "readonly fast", Since: "8.4.0", Run: digest},
	}
}

// stringOptions are the options of SET, GETEX and MSETEX.
type stringOptions struct {
	condition stringCondition
	get       bool
	keepTTL   bool
	persist   bool
	expiry    expiryOptionValue
}

// expiryOptionValue is EX, PX, EXAT or PXAT with its argument.
type expiryOptionValue struct {
	word     string // "" if there is none
	unit     int64  // milliseconds
	relative bool
	arg      []byte
}

// stringCondition is NX, XX or a comparison of the value.
type stringCondition struct {
	word string // "" if there is none
	arg  []byte
}

// The words that a command takes.
const (
	takesCompare = 1 << iota // IFEQ, IFNE, IFDEQ, IFDNE
	takesExists              // NX, XX
	takesGet
	takesKeepTTL
	takesPersist
)

// parseStringOptions reads options in any order, as Redis does.
func parseStringOptions(args [][]byte, takes int) (o stringOptions, err error) {
	for i := 0; i < len(args); i++ {
		unit, relative, isExpiry := expiryOption(args[i])
		word := upperName(args[i])
		switch {
		case takes&takesExists != 0 && (word == "NX" || word == "XX") && (o.condition.word == "" || o.condition.word == word):
			o.condition.word = word
		case takes&takesCompare != 0 && isCompare(word) && o.condition.word == "" && i+1 < len(args):
			i++
			o.condition = stringCondition{word, args[i]}
		case takes&takesGet != 0 && word == "GET":
			o.get = true
		case takes&takesKeepTTL != 0 && word == "KEEPTTL" && o.expiry.word == "":
			o.keepTTL = true
		case takes&takesPersist != 0 && word == "PERSIST" && o.expiry.word == "":
			o.persist = true
		case isExpiry && !o.keepTTL && !o.persist && (o.expiry.word == "" || o.expiry.word == word) && i+1 < len(args):
			i++
			o.expiry = expiryOptionValue{word, unit, relative, args[i]}
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}

func isCompare(word string) bool {
	return word == "IFEQ" || word == "IFNE" || word == "IFDEQ" || word == "IFDNE"
}

// at returns the time that the options say, 0 if they say none.
func (o expiryOptionValue) at(now int64, command string) (int64, error) {
	if o.word == "" {
		return 0, nil
	}
	return expiryArgument(o.arg, o.unit, o.relative, now, command)
}

// check refuses an argument that is no digest.
func (o stringCondition) check() error {
	if o.word != "IFDEQ" && o.word != "IFDNE" {
		return nil
	}
	for _, b := range o.arg {
		if !isHexDigit(b) {
			return errDigest
		}
	}
	if len(o.arg) != 16 {
		return errDigest
	}
	return nil
}

const errDigest = Error("ERR must be exactly 16 hexadecimal characters")

// met reports whether the condition holds for what is stored.
func (o stringCondition) met(e *Entry) (bool, error) {
	exists := e.Value != nil
	switch o.word {
	case "":
		return true, nil
	case "NX":
		return !exists, nil
	case "XX":
		return exists, nil
	}
	not := o.word == "IFNE" || o.word == "IFDNE"
	if !exists {
		return not, nil
	}
	s, ok := e.Value.(String)
	if !ok {
		return false, ErrWrongType
	}
	if o.word == "IFEQ" || o.word == "IFNE" {
		return (string(s) == string(o.arg)) != not, nil
	}
	return is(o.arg, digestOf(s)) != not, nil
}

func digestOf(s String) string { return fmt.Sprintf("%016x", xxh3(s)) }

func set(c *Call) error {
	o, err := parseStringOptions(c.Args[3:], takesCompare|takesExists|takesGet|takesKeepTTL)
	if err != nil {
		return err
	}
	at, err := o.expiry.at(c.Now, "set")
	if err != nil {
		return err
	}
	if err := o.condition.check(); err != nil {
		return err
	}
	e := c.entry(c.Args[1])
	before, isString := e.Value.(String)
	if o.get && e.Value != nil && !isString {
		return ErrWrongType
	}
	met, err := o.condition.met(e)
	if err != nil {
		return err
	}
	switch {
	case o.get:
		c.miss(e, c.Args[1])
		c.text(e, before)
	case met:
		c.ok()
	default:
		c.Reply.Null()
	}
	if met {
		c.store(e, c.Args[1], bulkOf(c.Args[2]), at, o.keepTTL)
	}
	return nil
}

// store is SET with an expiry; one in the past deletes the key.
func (c *Call) store(e *Entry, key []byte, s String, at int64, keepTTL bool) {
	if keepTTL {
		e.put(s)
		c.notify(StringEvent, "set", key)
		return
	}
	e.replace(s)
	c.notify(StringEvent, "set", key)
	e.expire(at, c.Now)
	if at != 0 {
		c.notify(GenericEvent, "expire", key)
	}
	if e.Value == nil { // Redis finds out when the key is next asked for
		c.notify(ExpiredEvent, "expired", key)
	}
}

// expire gives a key that exists an expiry, unless it is 0.
func (e *Entry) expire(at, now int64) {
	switch {
	case at == 0:
	case at <= now:
		e.remove()
	default:
		e.ExpiresAt, e.Changed = at, true
	}
}

func setWithTTL(unit int64) func(*Call) error {
	return func(c *Call) error {
		at, err := expiryArgument(c.Args[2], unit, true, c.Now, lowerName(c.Args[0]))
		if err != nil {
			return err
		}
		c.store(c.entry(c.Args[1]), c.Args[1], bulkOf(c.Args[3]), at, false)
		c.ok()
		return nil
	}
}

func getex(c *Call) error {
	o, err := parseStringOptions(c.Args[2:], takesPersist)
	if err != nil {
		return err
	}
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.miss(e, c.Args[1])
	if e.Value == nil {
		c.Reply.Null()
		return nil
	}
	at, err := o.expiry.at(c.Now, "getex")
	if err != nil {
		return err
	}
	c.text(e, s)
	if o.persist && e.ExpiresAt != 0 {
		e.ExpiresAt, e.Changed = 0, true
		c.notify(GenericEvent, "persist", c.Args[1])
	}
	e.expire(at, c.Now)
	c.notifyExpiry(e, at, c.Args[1])
	return nil
}

func msetex(c *Call) error {
	n, err := integerIn(c.Args[1], 1, math.MaxInt32, "ERR invalid numkeys value")
	if err != nil {
		return err
	}
	if n > int64(len(c.Args)-2)/2 {
		return Error("ERR wrong number of key-value pairs")
	}
	pairs := c.Args[2 : 2+2*n]
	o, err := parseStringOptions(c.Args[2+2*n:], takesExists|takesKeepTTL)
	if err != nil {
		return err
	}
	at, err := o.expiry.at(c.Now, "msetex")
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if met, _ := o.condition.met(c.entry(pairs[i])); !met {
			c.Reply.Int(0)
			return nil
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		c.store(c.entry(pairs[i]), pairs[i], bulkOf(pairs[i+1]), at, o.keepTTL)
	}
	c.Reply.Int(1)
	return nil
}

func delex(c *Call) error {
	if len(c.Args) != 2 && len(c.Args) != 4 {
		return errArity("delex")
	}
	if len(c.Args) == 2 {
		return c.deleteIf(stringCondition{})
	}
	e := c.entry(c.Args[1])
	if e.Value == nil {
		c.Reply.Int(0)
		return nil
	}
	if e.Value.Kind() != KindString {
		return Error("ERR Key should be of string type if conditions are specified")
	}
	condition := stringCondition{upperName(c.Args[2]), c.Args[3]}
	if !isCompare(condition.word) {
		return Error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
	}
	if err := condition.check(); err != nil {
		return err
	}
	return c.deleteIf(condition)
}

func delifeq(c *Call) error {
	return c.deleteIf(stringCondition{"IFEQ", c.Args[2]})
}

// deleteIf deletes a key under a condition.
func (c *Call) deleteIf(condition stringCondition) error {
	e := c.entry(c.Args[1])
	met, err := condition.met(e)
	if err != nil {
		return err
	}
	if met = met && e.Value != nil; met {
		e.remove()
		c.notify(GenericEvent, "del", c.Args[1])
	}
	c.intBool(met)
	return nil
}

func digest(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	if e.Value == nil {
		c.Reply.Null()
	} else {
		c.Reply.Bulk(digestOf(s))
	}
	return nil
}
