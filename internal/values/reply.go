package values

// Reply receives the answer of a command, part by part. An array, map or set of
// n is followed by its n elements (a map: by n pairs of key and value). A
// command that returns an error has written nothing.
type Reply interface {
	RESP3() bool // the client speaks version 3 of the protocol

	Status(s string) // such as OK
	Int(n int64)
	Bulk(s string)
	Double(f float64)
	Null()
	NullArray()
	Array(n int)
	Map(n int)
	Set(n int)
}

// bulks answers with an array of strings.
func bulks(r Reply, list []string) {
	r.Array(len(list))
	for _, s := range list {
		r.Bulk(s)
	}
}

func (c *Call) ok() { c.Reply.Status("OK") }

func (c *Call) intBool(b bool) {
	if b {
		c.Reply.Int(1)
	} else {
		c.Reply.Int(0)
	}
}

// pairsHeader begins n pairs: in version 3 an array of arrays of two, in version
// 2 a flat array. pairHeader begins each pair.
func (c *Call) pairsHeader(n int) {
	if c.Reply.RESP3() {
		c.Reply.Array(n)
	} else {
		c.Reply.Array(2 * n)
	}
}

func (c *Call) pairHeader() {
	if c.Reply.RESP3() {
		c.Reply.Array(2)
	}
}
