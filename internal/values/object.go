package values

func objectCommands() []Command {
	command := func(name, since string, answer func(*Call, Value) error) Command {
		return Command{Name: "object|" + name, Arity: 3, Flags: "readonly", Since: since, First: 2, Last: 2, Step: 1,
			Run: func(c *Call) error {
				c.ReadOnly = false // OBJECT names no miss
				e := c.entry(c.Args[2])
				if e.Value == nil {
					c.Reply.Null()
					return nil
				}
				return answer(c, e.Value)
			}}
	}
	return []Command{
		command("encoding", "2.2.3", func(c *Call, v Value) error { c.Reply.Bulk(Encoding(v)); return nil }),
		command("refcount", "2.2.3", func(c *Call, _ Value) error { c.Reply.Int(1); return nil }),
		command("idletime", "2.2.3", func(c *Call, _ Value) error { c.Reply.Int(0); return nil }),
		command("freq", "4.0.0", func(*Call, Value) error { return errNoFrequencies }),
		{Name: "memory|usage", Arity: -3, Flags: "readonly", Since: "4.0.0", First: 2, Last: 2, Step: 1, Run: memoryUsage},
	}
}

// RowOverhead is the size of a row without key and value, in bytes, as budgets count
// it: headers, the columns beside them, and the index entry.
const RowOverhead = 100

// CheckUsage says what is wrong with the options of a command line of MEMORY USAGE.
func CheckUsage(args [][]byte) error {
	for i := 3; i < len(args); i += 2 {
		if !is(args[i], "SAMPLES") || i+1 == len(args) {
			return ErrSyntax
		}
		if samples, err := integer(args[i+1]); err != nil {
			return err
		} else if samples < 0 {
			return ErrSyntax
		}
	}
	return nil
}

func memoryUsage(c *Call) error {
	if err := CheckUsage(c.Args); err != nil {
		return err
	}
	c.ReadOnly = false // it names no miss
	e := c.entry(c.Args[2])
	if e.Value == nil {
		c.Reply.Null()
		return nil
	}
	c.Reply.Int(int64(RowOverhead + len(c.Args[2]) + len(Encode(nil, e.Value))))
	return nil
}

const errNoFrequencies = Error("ERR An LFU maxmemory policy is not selected, access frequency not tracked. " +
	"Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
