package transfer

import (
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

const pieceElements = 500

// pieces reads a collection by the commands of its type, until it is too large. It returns
// nil if there is none, and refused if the server refuses or the collection is too large.
func (r *reader) pieces(key string, kind values.Kind) (value values.Value, refused string, err error) {
	c := &collecting{reader: r, key: key}
	if kind == values.KindList {
		err = c.list()
	} else {
		err = c.scan(kind)
	}
	switch {
	case err != nil || c.refused != "":
		return nil, c.refused, err
	case c.bytes > fault.MaxCollectionBytes:
		return nil, reasonSize, nil
	case c.value == nil || c.value.Len() == 0:
		return nil, "", nil
	}
	return c.value, "", nil
}

// collecting is a collection that is read piece by piece.
type collecting struct {
	*reader
	key     string
	value   values.Value
	bytes   int // of all elements; their packed form has more
	refused string
}

// ask sends one command. It returns no elements if the server refuses it.
func (c *collecting) ask(args ...string) ([]resp.Reply, error) {
	replies, err := c.conn.exchange(new(batch).add(args...))
	if err != nil {
		return nil, err
	}
	if replyError(replies[0]) != nil {
		c.refused = replyText(replies[0])
		return nil, nil
	}
	for _, elem := range replies[0].Elems {
		c.bytes += len(elem.Str)
	}
	return replies[0].Elems, nil
}

func (c *collecting) list() error {
	list := new(values.List)
	for first := 0; c.bytes <= fault.MaxCollectionBytes; first += pieceElements {
		elems, err := c.ask("LRANGE", c.key, strconv.Itoa(first), strconv.Itoa(first+pieceElements-1))
		if err != nil || c.refused != "" {
			return err
		}
		for _, elem := range elems {
			list.Push(string(elem.Str), false)
		}
		if len(elems) < pieceElements {
			break
		}
	}
	c.value = list
	return nil
}

// scan reads a hash, set or sorted set.
func (c *collecting) scan(kind values.Kind) error {
	command := map[values.Kind]string{values.KindHash: "HSCAN", values.KindSet: "SSCAN", values.KindSortedSet: "ZSCAN"}[kind]
	hash, set, sorted := new(values.Hash), new(values.Set), new(values.SortedSet)
	for cursor, more := "0", true; more && c.bytes <= fault.MaxCollectionBytes; more = cursor != "0" {
		elems, err := c.ask(command, c.key, cursor, "COUNT", strconv.Itoa(pieceElements))
		if err != nil || c.refused != "" {
			return err
		}
		if len(elems) != 2 {
			c.refused = "the source does not answer " + command + " as Redis does"
			return nil
		}
		cursor, elems = string(elems[0].Str), elems[1].Elems
		for _, elem := range elems {
			c.bytes += len(elem.Str)
		}
		switch kind {
		case values.KindSet:
			for _, elem := range elems {
				set.Add(string(elem.Str))
			}
		case values.KindHash:
			err = c.fields(hash, elems)
		default:
			err = c.scores(sorted, elems)
		}
		if err != nil || c.refused != "" {
			return err
		}
	}
	c.value = map[values.Kind]values.Value{values.KindHash: hash, values.KindSet: set, values.KindSortedSet: sorted}[kind]
	return nil
}

func (c *collecting) scores(sorted *values.SortedSet, elems []resp.Reply) error {
	for i := 0; i+1 < len(elems); i += 2 {
		score, err := strconv.ParseFloat(string(elems[i+1].Str), 64)
		if err != nil {
			c.refused = "a score is no number"
			return nil
		}
		sorted.Set(string(elems[i].Str), score)
	}
	return nil
}

// fields adds fields with their expiries, which Redis has since 7.4.
func (c *collecting) fields(hash *values.Hash, elems []resp.Reply) error {
	args := []string{"HPEXPIRETIME", c.key, "FIELDS", strconv.Itoa(len(elems) / 2)}
	for i := 0; i+1 < len(elems); i += 2 {
		hash.Set(string(elems[i].Str), string(elems[i+1].Str))
		args = append(args, string(elems[i].Str))
	}
	if c.noFieldExpiry || len(elems) == 0 {
		return nil
	}
	replies, err := c.conn.exchange(new(batch).add(args...))
	if err != nil {
		return err
	}
	if err := replyError(replies[0]); err != nil {
		c.noFieldExpiry = strings.Contains(err.Error(), "unknown command")
		if !c.noFieldExpiry {
			c.refused = replyText(replies[0])
		}
		return nil
	}
	for i, at := range replies[0].Elems {
		if at.Int > 0 && 2*i < len(elems) {
			hash.SetFieldExpiry(string(elems[2*i].Str), at.Int)
		}
	}
	return nil
}
