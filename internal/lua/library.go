package lua

import (
	"context"
	"errors"
	"strings"
)

// Library is a library of functions, as FUNCTION LOAD takes it.
type Library struct {
	name      string
	code      string
	proto     *proto
	functions []Function
}

// Function is what a library registered.
type Function struct {
	Name           string
	Description    string // empty if none was given
	HasDescription bool
	Flags          Flags
}

// library is one that is being loaded.
type library struct {
	functions []registered
	names     map[string]bool
	open      bool // functions may still be registered
}

type registered struct {
	Function
	callback value
}

// LoadLibrary compiles a library, whose first line is "#!lua name=...", and runs
// it once for the functions that it registers. The error has the text of
// redis-server; where the run ended early it is that of Program.Run.
func LoadLibrary(ctx context.Context, source []byte, limits Limits) (*Library, error) {
	name, text, err := libraryHeader(string(source))
	if err != nil {
		return nil, err
	}
	p, failure := compile("user_function", "@user_function", text)
	if failure != nil {
		return nil, errors.New("ERR Error compiling function: " + failure.message)
	}
	l := &Library{name: name, code: string(source), proto: p}
	m := machines.Get().(*machine)
	m.begin(ctx, &Run{Limits: limits})
	loaded, err := m.load(l)
	if err == nil && len(loaded.functions) == 0 {
		err = errors.New("ERR No functions registered")
	}
	if err == nil {
		for _, f := range loaded.functions {
			l.functions = append(l.functions, f.Function)
		}
	}
	m.release()
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Name is the name of the library.
func (l *Library) Name() string { return l.name }

// Code is the source of the library.
func (l *Library) Code() string { return l.code }

// Functions lists what the library registers, in the order in which it does.
func (l *Library) Functions() []Function { return l.functions }

// Call loads the library and runs one of its functions: what the library keeps
// in its variables does not outlive the run. The results are those of Program.Run.
func (l *Library) Call(ctx context.Context, function string, r *Run) (reply []byte, err error) {
	m := machines.Get().(*machine)
	defer m.release()
	host := r.Host
	m.begin(ctx, &Run{Limits: r.Limits, Protocol: r.Protocol})
	loaded, err := m.load(l)
	if err != nil {
		return nil, err
	}
	m.run.Host, m.run.Numbers, m.run.Failed = host, r.Numbers, r.Failed
	for _, f := range loaded.functions {
		if f.Name == function {
			return m.reply(function, f.callback, m.stringTable(r.Keys), m.stringTable(r.Args))
		}
	}
	return []byte("-ERR Function not found\r\n"), nil
}

// load runs the code of a library.
func (m *machine) load(l *Library) (*library, error) {
	for _, name := range []string{"KEYS", "ARGV", errHandlerName} {
		m.scripting.setString(name, nilValue)
	}
	m.loading = &library{open: true, names: make(map[string]bool)}
	m.globals = m.loadable
	_, failure, err := m.execute(m.newFunction(l.proto))
	m.globals = m.scripting
	m.loading.open = false
	if err != nil {
		return nil, err
	}
	if failure != nil {
		message := "ERR " + failure.value.describe()
		if t, ok := failure.value.o.(*table); ok {
			message, _ = t.getString("err").text()
		}
		return nil, errors.New("ERR Error registering functions: " + cString(message))
	}
	return m.loading, nil
}

// LibraryName returns the name in the first line of a library. The error has the text
// of redis-server.
func LibraryName(source []byte) (string, error) {
	name, _, err := libraryHeader(string(source))
	return name, err
}

// libraryHeader reads the first line of a library.
func libraryHeader(source string) (name, text string, err error) {
	if !strings.HasPrefix(source, "#!") {
		return "", "", errors.New("ERR Missing library metadata")
	}
	end := strings.IndexByte(cString(source), '\n')
	if end < 0 {
		return "", "", errors.New("ERR Invalid library metadata")
	}
	parts, ok := splitWords(source[:end])
	if !ok {
		return "", "", errors.New("ERR Invalid library metadata")
	}
	engine := strings.TrimPrefix(parts[0], "#!")
	for _, part := range parts[1:] {
		option, value, ok := strings.Cut(part, "=")
		if !ok || !strings.EqualFold(option, "name") {
			return "", "", errors.New("ERR Invalid metadata value given: " + part)
		}
		if name != "" {
			return "", "", errors.New("ERR Invalid metadata value, name argument was given multiple times")
		}
		name = value
	}
	switch {
	case len(parts) == 1:
		return "", "", errors.New("ERR Library name was not given")
	case !validName(name):
		return "", "", errors.New("ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long")
	case !strings.EqualFold(engine, "lua"):
		return "", "", errors.New("ERR Engine '" + engine + "' not found")
	}
	return name, source[end:], nil
}

func validName(name string) bool {
	for i := range len(name) {
		if !isWord(int(name[i])) {
			return false
		}
	}
	return name != ""
}

func redisRegisterFunction(th *thread, args []value) []value {
	l := th.m.loading
	if l == nil || !l.open {
		th.fault("redis.register_function can only be called on FUNCTION LOAD command")
	}
	if len(args) < 1 || len(args) > 2 {
		th.fault("wrong number of arguments to redis.register_function")
	}
	var f registered
	if len(args) == 1 {
		f = th.namedArguments(args[0])
	} else {
		var ok bool
		if f.Name, ok = args[0].text(); !ok {
			th.fault("first argument to redis.register_function must be a string")
		}
		if _, ok = args[1].o.(*function); !ok {
			th.fault("second argument to redis.register_function must be a function")
		}
		f.callback = args[1]
	}
	if !validName(f.Name) {
		th.fault("Library names can only contain letters, numbers, or underscores(_) and must be at least one character long")
	}
	if l.names[f.Name] {
		th.fault("Function already exists in the library")
	}
	th.m.charge(2*functionBytes + len(f.Name))
	l.names[f.Name] = true
	l.functions = append(l.functions, f)
	return nil
}

func (th *thread) namedArguments(v value) (f registered) {
	t, ok := v.o.(*table)
	if !ok {
		th.fault("calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).")
	}
	t.entries(func(k, v value) {
		key, ok := k.text()
		if !ok {
			th.fault("named argument key given to redis.register_function is not a string")
		}
		switch cString(key) {
		case "function_name":
			if f.Name, ok = v.text(); !ok {
				th.fault("function_name argument given to redis.register_function must be a string")
			}
		case "description":
			if f.Description, f.HasDescription = v.text(); !f.HasDescription {
				th.fault("description argument given to redis.register_function must be a string")
			}
		case "callback":
			if _, ok := v.o.(*function); !ok {
				th.fault("callback argument given to redis.register_function must be a function")
			}
			f.callback = v
		case "flags":
			f.Flags = th.functionFlags(v)
		default:
			th.fault("unknown argument given to redis.register_function")
		}
	})
	if f.Name == "" {
		th.fault("redis.register_function must get a function name argument")
	}
	if f.callback.isNil() {
		th.fault("redis.register_function must get a callback argument")
	}
	return f
}

func (th *thread) functionFlags(v value) (flags Flags) {
	t, ok := v.o.(*table)
	if !ok {
		th.fault("flags argument to redis.register_function must be a table representing function flags")
	}
	for i := 1; !t.getInt(i).isNil(); i++ {
		name, _ := t.getInt(i).o.(string)
		f, ok := flagOf(cString(name))
		if !ok {
			th.fault("unknown flag given")
		}
		flags |= f
	}
	return flags
}
