//go:build peers

package values_test

import (
	"math/rand/v2"
	"strings"
)

// family is a family of commands as templates. In a template a lower-case word
// stands for a random argument of that sort, (...)+ for one to four times what
// is inside, [a|b|] for one of several.
type family struct {
	name      string
	unordered bool // Redis leaves the order of elements open
	hll       bool // the cached cardinality may differ
	templates []string
	words     map[string][]string // sorts of arguments beside those of all families
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

type grammar struct {
	*rand.Rand
	family family
}

// line makes a random command line.
func (g *grammar) line() []string {
	template := g.family.templates[g.IntN(len(g.family.templates))]
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
// would be random, keys would expire meanwhile, or sorted sets for ranges of names get
// different scores.
func (g *grammar) fixed(line []string) bool {
	switch strings.ToUpper(line[0]) {
	case "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "SSCAN":
		return true
	case "ZADD", "ZRANGESTORE":
		return line[1][0] == 'l'
	}
	text := strings.ToUpper(strings.Join(line, " "))
	return strings.Contains(text, "LEX") || strings.Contains(text, "EX ") || strings.Contains(text, "EXPIRE") || strings.Contains(text, "PX ")
}

// spoil drops, doubles or replaces an argument.
func (g *grammar) spoil(line []string) []string {
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

func (g *grammar) expand(words []string) (line []string) {
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

func (g *grammar) sort(word string) []string {
	if list := g.family.words[word]; list != nil {
		return list
	}
	return sorts[word]
}

func (g *grammar) word(sort string) string {
	list := g.sort(sort)
	return list[g.IntN(len(list))]
}
