package values

import (
	"math"
	"math/big"
	"time"
)

// Waiting is what a command line waits for, if there is nothing for it.
type Waiting struct {
	Keys    [][]byte      // in the order in which they are wanted
	Kind    Kind          // of what it takes
	Target  []byte        // the key to which it moves something; nil: it moves nothing
	Timeout time.Duration // 0: none
}

// Blocking commands wait until a key holds something. Their functions do not: where there
// is nothing they answer as in a transaction, and set Call.Nothing.
func blockingListCommands() []Command {
	pop, move := "write noscript blocking", "write denyoom noscript blocking"
	return []Command{
		{Name: "blpop", Arity: -3, Flags: pop, Since: "2.0.0", First: 1, Last: -2, Step: 1, Waits: lastIsTimeout(KindList), Run: blockingPop(true)},
		{Name: "brpop", Arity: -3, Flags: pop, Since: "2.0.0", First: 1, Last: -2, Step: 1, Waits: lastIsTimeout(KindList), Run: blockingPop(false)},
		{Name: "blmpop", Arity: -5, Flags: "write blocking movablekeys", Since: "7.0.0", NumKeys: 2, Waits: firstIsTimeout(KindList, "LEFT", "RIGHT"), Run: afterTimeout(lmpop)},
		{Name: "blmove", Arity: 6, Flags: move, Since: "6.2.0", First: 1, Last: 2, Step: 1, Waits: blmoveWaits, Run: lmove},
		{Name: "brpoplpush", Arity: 4, Flags: move, Since: "2.2.0", First: 1, Last: 2, Step: 1, Waits: brpoplpushWaits, Run: rpoplpush},
	}
}

func blockingSortedSetCommands() []Command {
	const pop = "write noscript blocking fast"
	return []Command{
		{Name: "bzpopmin", Arity: -3, Flags: pop, Since: "5.0.0", First: 1, Last: -2, Step: 1, Waits: lastIsTimeout(KindSortedSet), Run: blockingZPop(false)},
		{Name: "bzpopmax", Arity: -3, Flags: pop, Since: "5.0.0", First: 1, Last: -2, Step: 1, Waits: lastIsTimeout(KindSortedSet), Run: blockingZPop(true)},
		{Name: "bzmpop", Arity: -5, Flags: "write blocking movablekeys", Since: "7.0.0", NumKeys: 2, Waits: firstIsTimeout(KindSortedSet, "MIN", "MAX"), Run: afterTimeout(zmpop)},
	}
}

// checked makes a command with Waits check its whole command line before it runs.
func checked(cmd *Command) {
	run := cmd.Run
	cmd.Run = func(c *Call) error {
		if _, err := cmd.Waits(c.Args); err != nil {
			return err
		}
		return run(c)
	}
}

func lastIsTimeout(kind Kind) func([][]byte) (Waiting, error) {
	return func(args [][]byte) (Waiting, error) {
		last := len(args) - 1
		limit, err := timeout(args[last])
		return Waiting{Keys: args[1:last], Kind: kind, Timeout: limit}, err
	}
}

func firstIsTimeout(kind Kind, one, two string) func([][]byte) (Waiting, error) {
	return func(args [][]byte) (Waiting, error) {
		keys, _, _, err := popMany(args[1:], one, two)
		if err != nil {
			return Waiting{}, err
		}
		limit, err := timeout(args[1])
		return Waiting{Keys: keys, Kind: kind, Timeout: limit}, err
	}
}

func blmoveWaits(args [][]byte) (Waiting, error) {
	if _, err := listEnds(args); err != nil {
		return Waiting{}, err
	}
	return waitToMove(args, 5)
}

func brpoplpushWaits(args [][]byte) (Waiting, error) { return waitToMove(args, 3) }

func waitToMove(args [][]byte, at int) (Waiting, error) {
	limit, err := timeout(args[at])
	return Waiting{Keys: args[1:2], Kind: KindList, Target: args[2], Timeout: limit}, err
}

// The errors of timeouts.
const (
	errTimeout         = Error("ERR timeout is not a float or out of range")
	errTimeoutNegative = Error("ERR timeout is negative")
)

// timeout parses a timeout in seconds, which Redis rounds up to milliseconds. The longest
// is that of a time.Duration, 292 years.
func timeout(arg []byte) (time.Duration, error) {
	seconds, ok := parseLongDouble(string(arg))
	if !ok {
		return 0, errTimeout
	}
	if seconds.IsInf() {
		return 0, errTimeoutNegative // as Redis reads all that is too large
	}
	exact := new(big.Float).SetPrec(64).Mul(seconds.Float, big.NewFloat(1000))
	ms, accuracy := exact.Int64()
	if accuracy == big.Below && exact.Sign() > 0 {
		ms++ // the next one, or less than 0 beyond all
	}
	if ms < 0 {
		return 0, errTimeoutNegative
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, nil
}

// nothing answers a blocking command that has found nothing.
func (c *Call) nothing() error {
	c.Nothing = true
	c.Reply.NullArray()
	return nil
}

func blockingPop(left bool) func(*Call) error {
	return func(c *Call) error {
		for _, key := range c.Args[1 : len(c.Args)-1] {
			e, l, err := c.list(key)
			if err != nil {
				return err
			}
			if l != nil {
				c.Reply.Array(2)
				c.Reply.Bulk(string(key))
				c.Reply.Bulk(c.popElements(e, l, 1, left, key)[0])
				return nil
			}
		}
		return c.nothing()
	}
}

func blockingZPop(highest bool) func(*Call) error {
	return func(c *Call) error {
		for _, key := range c.Args[1 : len(c.Args)-1] {
			e, z, err := c.sortedSet(key)
			if err != nil {
				return err
			}
			if z != nil {
				popped := c.popMembers(e, z, 1, highest, key)[0]
				c.Reply.Array(3)
				c.Reply.Bulk(string(key))
				c.Reply.Bulk(popped.Name)
				c.Reply.Double(popped.Score)
				return nil
			}
		}
		return c.nothing()
	}
}

// afterTimeout runs the command that has the same arguments without the timeout.
func afterTimeout(run func(*Call) error) func(*Call) error {
	return func(c *Call) error {
		inner := *c
		inner.Args = c.Args[1:]
		err := run(&inner)
		c.Nothing = inner.Nothing
		return err
	}
}
