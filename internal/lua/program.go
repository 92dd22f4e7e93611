// Package lua runs the scripts of Redis: Lua 5.1 with the libraries, errors and
// conversions of redis-server 7.0, within bounds of time and memory.
//
// A script is compiled once to a Program, which any number of runs share. A run
// begins with the same state every time: as long as its commands give the same
// replies it does the same, so a host may abandon a run and begin it again. The
// numbers of math.random are the same in all runs with the same Numbers.
package lua

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
)

// Program is a compiled script. It may run many times at once.
type Program struct {
	proto *proto
	sha   string
	flags Flags
}

// Flags say what a script or a function promises or needs.
type Flags uint8

// The flags that Redis 7.0 knows, by their names there.
const (
	NoWrites           Flags = 1 << iota // no-writes
	AllowOOM                             // allow-oom
	AllowStale                           // allow-stale
	NoCluster                            // no-cluster
	AllowCrossSlotKeys                   // allow-cross-slot-keys
	CompatibilityMode                    // a script without a shebang line
)

var flagNames = []struct {
	name string
	flag Flags
}{
	{"no-writes", NoWrites}, {"allow-oom", AllowOOM}, {"allow-stale", AllowStale},
	{"no-cluster", NoCluster}, {"allow-cross-slot-keys", AllowCrossSlotKeys},
}

func flagOf(name string) (Flags, bool) {
	for _, f := range flagNames {
		if f.name == name {
			return f.flag, true
		}
	}
	return 0, false
}

// Names lists the flags as Redis writes them.
func (f Flags) Names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// DefaultMemory is the bound of Limits.Memory where that is 0, in bytes.
const DefaultMemory = 64 << 20

// Limits bound a run, besides the deadline of its context.
type Limits struct {
	// Memory is how many bytes may be reachable at a time; 0 is DefaultMemory.
	// What Go has not collected yet comes on top.
	Memory int
	// Steps is how many calls and turns of loops a run may take, about; 0 is
	// as many as it likes.
	Steps int
}

// Host runs the commands of scripts.
type Host interface {
	// Call runs a command and appends its reply to dst, in RESP of the protocol
	// (2 or 3) that the script asks for. An error reply is a reply. Where Call
	// returns an error, the run ends at once, cannot catch it, and Run returns it.
	// args are valid during the call only.
	Call(args [][]byte, protocol int, dst []byte) ([]byte, error)
	// Allowed answers redis.acl_check_cmd; known is false for no command.
	Allowed(args [][]byte) (allowed, known bool)
	// Log gets what redis.log writes; level is 0 (debug) to 3 (warning).
	Log(level int, message string)
}

// Run is what one run of a program gets.
type Run struct {
	Keys, Args [][]byte
	Host       Host
	Protocol   int // of the client that gets the reply: 2, or 3
	Limits     Limits
	Numbers    *Numbers // where math.random begins; nil: as after math.randomseed(0)

	// Failed is called with each error reply that the script gives, alone or inside
	// another reply, unless it is one that a command has given. nil: it is not called.
	Failed func(reply []byte)
}

// Compile compiles a script. name is what positions in errors begin with: Redis
// takes "user_script". The error has the text of redis-server.
func Compile(name string, source []byte) (*Program, error) {
	sum := sha1.Sum(source)
	text, flags, err := cutShebang(string(source))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "\x1b") {
		return nil, errors.New("ERR Error compiling script (new function): " + name + ": bad header in precompiled chunk")
	}
	p, failure := compile(name, "@"+name, text)
	if failure != nil {
		return nil, errors.New("ERR Error compiling script (new function): " + failure.message)
	}
	return &Program{proto: p, sha: hex.EncodeToString(sum[:]), flags: flags}, nil
}

// FlagsOf returns the flags of the first line of a source, without compiling it. Errors: as
// of Compile.
func FlagsOf(source []byte) (Flags, error) {
	if end := bytes.IndexByte(source, '\n'); end >= 0 {
		source = source[:end+1]
	}
	_, flags, err := cutShebang(string(source))
	return flags, err
}

// cutShebang reads the flags of a line "#!lua flags=...", and empties it.
func cutShebang(source string) (string, Flags, error) {
	if !strings.HasPrefix(source, "#!") {
		return source, CompatibilityMode, nil
	}
	end := strings.IndexByte(cString(source), '\n')
	if end < 0 {
		return "", 0, errors.New("ERR Invalid script shebang")
	}
	var flags Flags
	parts, ok := splitWords(source[:end])
	if !ok {
		return "", 0, errors.New("ERR Invalid engine in script shebang")
	}
	if parts[0] != "#!lua" {
		return "", 0, errors.New("ERR Unexpected engine in script shebang: " + parts[0])
	}
	for _, part := range parts[1:] {
		list, ok := strings.CutPrefix(part, "flags=")
		if !ok {
			return "", 0, errors.New("ERR Unknown lua shebang option: " + part)
		}
		if list == "" {
			continue
		}
		for _, name := range strings.Split(list, ",") {
			f, ok := flagOf(name)
			if !ok {
				return "", 0, errors.New("ERR Unexpected flag in script shebang: " + name)
			}
			flags |= f
		}
	}
	return source[end:], flags, nil
}

func compile(chunk, source, text string) (*proto, *syntaxError) {
	tree, err := parse(chunk, text)
	if err != nil {
		return nil, err
	}
	return (&compiler{chunk: chunk, source: source}).function(tree), nil
}

// SHA is the SHA-1 of the source, in hexadecimal digits: its name for EVALSHA.
func (p *Program) SHA() string { return p.sha }

// Flags are those of the first line of the source.
func (p *Program) Flags() Flags { return p.flags }

// Run runs the program. The reply is in RESP of r.Protocol; it may be an error
// reply. Where the run ended early err says why and there is no reply: the error
// of the host as it is, the cause of the context, ErrMemory or ErrSteps.
func (p *Program) Run(ctx context.Context, r *Run) (reply []byte, err error) {
	m := machines.Get().(*machine)
	m.begin(ctx, r)
	m.globals.setString("KEYS", m.stringTable(r.Keys))
	m.globals.setString("ARGV", m.stringTable(r.Args))
	reply, err = m.reply(p.sha, m.newFunction(p.proto))
	m.release()
	return reply, err
}

// release keeps a machine for further runs.
func (m *machine) release() {
	m.finish()
	machines.Put(m)
}

func (m *machine) stringTable(list [][]byte) value {
	t := m.newTable(len(list), 0)
	for i, s := range list {
		t.array[i] = m.newString(string(s))
	}
	return value{o: t}
}

// reply calls a function and writes what it returns.
func (m *machine) reply(name string, fn value, args ...value) (reply []byte, err error) {
	results, failure, err := m.execute(fn, args...)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		reply = appendFailure(nil, name, failure)
		m.noteFailure(failure.value, reply)
		return reply, nil
	}
	return m.writeReply(first(results))
}
