package redisapi

import (
	"fmt"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// noteTags is said of the commands that use tags.
const noteTags = "Refused inside MULTI, whose transaction does not see what others have stored or invalidated since it began."

func tagCommands() []*Command {
	return []*Command{
		{Name: "howdah.set", Arity: -6, Flags: "write denyoom noscript no_multi module", Keys: oneKey("OW update"), Group: "module", Since: "1.0.0",
			Summary: "Stores a value with tags", Complexity: "O(N) where N is the number of tags",
			Syntax: "key value TAGS numtags tag [tag ...] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds]",
			Note:   "The tags replace those of an older entry of the key; every other command keeps them. Returns null, and stores nothing, if one of the tags is being invalidated. " + noteTags, call: setTagged},
		{Name: "howdah.invalidate", Arity: -2, Flags: "write noscript no_multi module", Group: "module", Since: "1.0.0",
			Summary: "Removes the keys that were stored with any of these tags", Complexity: "O(N) where N is the number of keys removed",
			Syntax: "tag [tag ...]", Note: "Returns how many keys existed. " + noteTags, run: invalidateTags},
	}
}

func setTagged(r *request, args [][]byte) error {
	if !is(args[3], "TAGS") {
		return errSyntax
	}
	tags, rest, err := parseTags(args[4:])
	if err != nil {
		return err
	}
	options := setOptions{}
	if options, err = parseSetOptions(rest, false); err != nil {
		return err
	}
	if options.persist {
		return errSyntax
	}
	if r.call.Expiry, err = options.expiry("howdah.set"); err != nil {
		return err
	}
	r.call.Verb, r.call.Key, r.call.Value, r.call.Tags = statement.Set, r.own(args[1]), r.own(args[2]), tags
	r.reply = replyStored
	return nil
}

// parseTags reads a number and as many tags, and returns what follows them.
func parseTags(args [][]byte) (tags []string, rest [][]byte, err error) {
	n, err := parseInt(args[0])
	if err != nil {
		return nil, nil, err
	}
	if n < 1 || n > int64(len(args)-1) {
		return nil, nil, refusal("ERR numtags should be greater than 0 and match the number of tags")
	}
	if n > verb.MaxTags {
		return nil, nil, refusal(fmt.Sprintf("ERR an entry has at most %d tags", verb.MaxTags))
	}
	for _, arg := range args[1 : n+1] {
		tags = append(tags, string(arg))
	}
	return tags, args[n+1:], checkTags(tags)
}

// checkTags refuses what is not a tag.
func checkTags(tags []string) error {
	for _, tag := range tags {
		if err := verb.CheckTag(tag); err != nil {
			return refusal(fmt.Sprintf("ERR a tag is text in UTF-8 of 1 to %d bytes, without a zero byte", verb.MaxTagBytes))
		}
	}
	return nil
}

func invalidateTags(t *task, args [][]byte) error {
	tags := make([]string, len(args)-1)
	for i, arg := range args[1:] {
		tags[i] = string(arg)
	}
	if err := checkTags(tags); err != nil {
		return err
	}
	removed, err := t.cache(t.conn.database).InvalidateTags(t.ctx, tags)
	if err != nil {
		return err
	}
	t.out = resp.AppendInt(t.out, removed)
	return nil
}
