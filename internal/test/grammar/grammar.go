// Package grammar makes random command lines of Redis, for tests that compare two
// servers, or a server and the functions it stands on.
package grammar

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// Family is a family of commands as templates. In a template a lower-case word
// stands for a random argument of that sort, (...)+ for one to four times what
// is inside, [a|b|] for one of several.
type Family struct {
	Name        string
	Unordered   bool // Redis leaves the order of elements open
	HyperLogLog bool // the cached cardinality may differ
	Templates   []string
	Words       map[string][]string // sorts of arguments beside those of all families
}

// Prepare returns command lines that make keys of all kinds, which the templates
// name beside those of the right kind.
func Prepare() [][]string {
	return [][]string{
		{"SADD", "w0", "a", "b", "c"}, {"RPUSH", "w1", "a", "b", "c"}, {"HSET", "w2", "a", "1"},
		{"ZADD", "w3", "1", "a", "2", "b"}, {"SET", "w4", "12"}, {"SET", "w5", "x"},
	}
}

// Same reports whether two replies to one command line mean the same.
func (f *Family) Same(got, want string) bool {
	if f.HyperLogLog {
		got, want = withoutCache(got), withoutCache(want)
	}
	return got == want || f.Unordered && Sorted(got) == Sorted(want)
}

// withoutCache takes the cached cardinality out of a HyperLogLog: Redis stores it
// when it counts, Howdah writes nothing then.
func withoutCache(raw string) string {
	if at := strings.Index(raw, "HYLL"); at >= 0 && len(raw) >= at+16 {
		return raw[:at+8] + raw[at+16:]
	}
	return raw
}

// Sorted returns a reply with its elements sorted, for those whose order Redis
// leaves open.
func Sorted(raw string) string {
	r, err := resp.ReadReply(bufio.NewReader(strings.NewReader(raw)))
	if err != nil || r.Kind == resp.Error {
		return raw
	}
	return fmt.Sprintf("%c", r.Kind) + sortedText(r)
}

func sortedText(r resp.Reply) string {
	if len(r.Elems) == 0 {
		return fmt.Sprintf("%c%q%d", r.Kind, r.Str, r.Int)
	}
	texts := make([]string, len(r.Elems))
	for i, elem := range r.Elems {
		texts[i] = sortedText(elem)
	}
	slices.Sort(texts)
	return fmt.Sprint(texts)
}

// sorts are the sorts of arguments that all families share.
var sorts = map[string][]string{
	"k": {"k0", "k1", "k2", "k3", "k0", "k1", "k2", "k3", "k0", "k1", "k2", "k3", "w0", "w1", "w2", "w3", "w4"},
	"m": {"a", "b", "c", "d", "e", "f", "g", "aa", "ab", "1", "2", "3", "10", "-5", "", "\x00", "\xff\xfe", "long-member-name"},
	"v": {"x", "y", "", "0", "7", "-12", "1.5", "3.0e2", "abc", "9223372036854775807", "9223372036854775800", "-9223372036854775808", " 1", "inf", "nan", "binary\r\n\x00", "a-somewhat-longer-value-of-forty-characters"},
	"i": {"0", "1", "2", "3", "-1", "-2", "-3", "5", "100", "-100", "0", "1", "2", "3", "-1", "-2", "1", "2", "9223372036854775807", "-9223372036854775808", "-9223372036854775807", "9223372036854775808", "4611686018427387904", "x", "", "1.5", " 1", "01", "+1", "-0"},
	"s": {"1", "2", "3", "-1", "0", "-0", "1.5", "2.5", "10", "100", "1", "2", "3", "4", "5", "6", "inf", "-inf", "+inf", "0.1", "1e17", "123456789012345678", "4503599627370497", "17179869184", "1e-7", "3.0e2", "1", "2", "0x10", "infinity", ".5", "5."},
	"f": {"1", "2.5", "-1.25", "3.0e2", "0.1", "1e-5", "100000000000000000000", "0x1.8p1", "5.", ".25", "1e4000", "-1e4000", "1e-4000", "123456.789", "-0", "0", "1e18", "12345678901234567890.5"},
	"b": {"nan", "1e400", "1e-400", " 1", "1 ", "abc", "", "--1", "1e", "0x", "1e5000", "-inf", "inf", "1\x00"},
}

// Grammar makes the command lines of a family.
type Grammar struct {
	*rand.Rand
	Family Family
}

// Line makes a random command line.
func (g *Grammar) Line() []string {
	template := g.Family.Templates[g.IntN(len(g.Family.Templates))]
	if g.IntN(60) == 0 {
		template = "DEL k"
	}
	line := g.expand(strings.Fields(template))
	if g.IntN(40) == 0 && !g.fixed(line) {
		line = g.spoil(line)
	}
	return line
}

// fixed reports whether a command line must stay as the template has it: replies
// would be random, sets would be sorted BY nothing, keys would expire meanwhile, or sorted sets for ranges of names get
// different scores.
func (g *Grammar) fixed(line []string) bool {
	switch strings.ToUpper(line[0]) {
	case "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "SSCAN", "TTL", "PTTL":
		return true
	case "ZADD", "ZRANGESTORE":
		return line[1][0] == 'l'
	}
	text := strings.ToUpper(strings.Join(line, " ")) + " "
	return strings.Contains(text, "LEX") || strings.Contains(text, " BY ") || strings.Contains(text, "EX ") || strings.Contains(text, "EXPIRE") || strings.Contains(text, "PX ")
}

// spoil drops, doubles or replaces an argument.
func (g *Grammar) spoil(line []string) []string {
	at := 1 + g.IntN(len(line))
	if at == len(line) {
		return append(line, g.word("m"))
	}
	switch g.IntN(4) {
	case 0:
		return append(line[:at:at], line[at+1:]...)
	case 1:
		return append(line[:at:at], line[at-1:]...)
	case 2:
		line[at] = g.word("b")
	default:
		line[at] = g.word("i")
	}
	return line
}

func (g *Grammar) expand(words []string) (line []string) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "(":
			end := i + 1
			for words[end] != ")+" {
				end++
			}
			for range 1 + g.IntN(4) {
				line = append(line, g.expand(words[i+1:end])...)
			}
			i = end
		case word[0] == '[':
			choices := strings.Split(word[1:len(word)-1], "|")
			if choice := choices[g.IntN(len(choices))]; choice != "" {
				line = append(line, g.expand(strings.Split(choice, ","))...)
			}
		case g.sort(word) != nil:
			line = append(line, g.word(word))
		case g.IntN(8) == 0:
			line = append(line, strings.ToLower(word))
		default:
			line = append(line, word)
		}
	}
	return line
}

func (g *Grammar) sort(word string) []string {
	if list := g.Family.Words[word]; list != nil {
		return list
	}
	return sorts[word]
}

func (g *Grammar) word(sort string) string {
	list := g.sort(sort)
	return list[g.IntN(len(list))]
}
