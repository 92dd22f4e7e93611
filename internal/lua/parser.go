package lua

import "fmt"

// Limits of Lua 5.1.
const (
	maxLocals   = 200
	maxUpvalues = 60
	maxLevels   = 195  // of nested syntax
	maxChain    = 5000 // operators, suffixes or conditions in a row
)

// parser reads a chunk by recursive descent, with the errors of Lua 5.1.
type parser struct {
	lexer
	fn     *functionState
	levels int
}

// functionState is a function while it is parsed.
type functionState struct {
	tree   *protoTree
	parent *functionState
	active []*variable
	loops  int
}

// parse reads a chunk. Its name is what errors start with.
func parse(name, source string) (tree *protoTree, err *syntaxError) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case syntaxError:
			err = &p
		default:
			panic(p)
		}
	}()
	p := &parser{lexer: lexer{name: name, source: source, line: 1}}
	p.fn = &functionState{tree: &protoTree{vararg: true}}
	p.advance()
	p.fn.tree.body = p.chunk()
	p.check(tokEOF)
	return p.fn.tree, nil
}

func (p *parser) enter() {
	if p.levels++; p.levels > maxLevels {
		p.fail("chunk has too many syntax levels", 0)
	}
}

func (p *parser) leave() { p.levels-- }

func (p *parser) check(t token) {
	if p.token != t {
		p.unexpected("'" + t.String() + "' expected")
	}
}

func (p *parser) accept(t token) bool {
	if p.token != t {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(t token) {
	p.check(t)
	p.advance()
}

// match expects the token that closes what was opened at a line.
func (p *parser) match(what, who token, line int) {
	if p.accept(what) {
		return
	}
	if line == p.line {
		p.unexpected("'" + what.String() + "' expected")
	}
	p.unexpected(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", what, who, line))
}

func (p *parser) name() string {
	p.check(tokName)
	s := p.text
	p.advance()
	return s
}

func (p *parser) limit(count, limit int, what string) {
	if count <= limit {
		return
	}
	if p.fn.parent == nil {
		p.fail(fmt.Sprintf("main function has more than %d %s", limit, what), 0)
	}
	p.fail(fmt.Sprintf("function at line %d has more than %d %s", p.fn.tree.line, limit, what), 0)
}

// newLocal makes a variable that activate brings into scope. pending is how
// many others wait.
func (p *parser) newLocal(name string, pending int) *variable {
	p.limit(len(p.fn.active)+pending+1, maxLocals, "local variables")
	return &variable{name: name}
}

func (p *parser) activate(vs ...*variable) {
	fn := p.fn
	for _, v := range vs {
		v.register = len(fn.active)
		fn.active = append(fn.active, v)
	}
	fn.tree.registers = max(fn.tree.registers, len(fn.active))
}

// block parses a chunk in a scope of its own.
func (p *parser) block() []stmt {
	scope := len(p.fn.active)
	body := p.chunk()
	p.fn.active = p.fn.active[:scope]
	return body
}

func blockEnds(t token) bool {
	switch t {
	case tokElse, tokElseif, tokEnd, tokEOF, tokUntil:
		return true
	}
	return false
}

func (p *parser) chunk() []stmt {
	p.enter()
	defer p.leave()
	var body []stmt
	for last := false; !last && !blockEnds(p.token); {
		var s stmt
		s, last = p.statement()
		body = append(body, s)
		p.accept(';')
	}
	return body
}

func (p *parser) statement() (s stmt, last bool) {
	line := p.line
	switch p.token {
	case tokIf:
		return p.ifStatement(line), false
	case tokWhile:
		p.advance()
		condition := p.expression()
		p.expect(tokDo)
		body := p.loop()
		p.match(tokEnd, tokWhile, line)
		return &whileStmt{condition, body}, false
	case tokDo:
		p.advance()
		body := p.block()
		p.match(tokEnd, tokDo, line)
		return &doStmt{body}, false
	case tokFor:
		return p.forStatement(line), false
	case tokRepeat:
		return p.repeatStatement(line), false
	case tokFunction:
		return p.functionStatement(line), false
	case tokLocal:
		p.advance()
		if p.accept(tokFunction) {
			v := p.newLocal(p.name(), 0)
			p.activate(v)
			return &localFunctionStmt{v, p.function(false, line)}, false
		}
		return p.localStatement(line), false
	case tokReturn:
		p.advance()
		var values []expr
		if !blockEnds(p.token) && p.token != ';' {
			values = p.expressions()
		}
		return &returnStmt{values, line}, true
	case tokBreak:
		p.advance()
		if p.fn.loops == 0 {
			p.unexpected("no loop to break")
		}
		return &breakStmt{}, true
	}
	return p.expressionStatement(), false
}

func (p *parser) loop() []stmt {
	p.fn.loops++
	body := p.block()
	p.fn.loops--
	return body
}

func (p *parser) ifStatement(line int) stmt {
	s := &ifStmt{}
	for p.token == tokIf || p.token == tokElseif {
		p.advance()
		s.conditions = append(s.conditions, p.expression())
		p.expect(tokThen)
		s.blocks = append(s.blocks, p.block())
	}
	if p.accept(tokElse) {
		s.otherwise = p.block()
	}
	p.match(tokEnd, tokIf, line)
	return s
}

func (p *parser) repeatStatement(line int) stmt {
	p.advance()
	scope := len(p.fn.active)
	p.fn.loops++
	body := p.chunk()
	p.fn.loops--
	p.match(tokUntil, tokRepeat, line)
	condition := p.expression() // sees the variables of the body
	p.fn.active = p.fn.active[:scope]
	return &repeatStmt{body, condition}
}

func (p *parser) forStatement(line int) (s stmt) {
	p.advance()
	name := p.name()
	scope := len(p.fn.active)
	switch p.token {
	case '=':
		s = p.numericFor(name)
	case ',', tokIn:
		s = p.genericFor(name)
	default:
		p.unexpected("'=' or 'in' expected")
	}
	p.match(tokEnd, tokFor, line)
	p.fn.active = p.fn.active[:scope]
	return s
}

func (p *parser) numericFor(name string) stmt {
	s := &numericForStmt{}
	hidden := []*variable{p.newLocal("(for index)", 0), p.newLocal("(for limit)", 1), p.newLocal("(for step)", 2)}
	s.variable = p.newLocal(name, 3)
	p.advance()
	s.start = p.expression()
	p.expect(',')
	s.limit = p.expression()
	if p.accept(',') {
		s.step = p.expression()
	}
	p.activate(hidden...)
	p.expect(tokDo)
	s.line = p.lastLine // as in Lua 5.1, where "do" checks the numbers
	p.activate(s.variable)
	s.body = p.loop()
	return s
}

func (p *parser) genericFor(name string) stmt {
	s := &genericForStmt{}
	hidden := []*variable{p.newLocal("(for generator)", 0), p.newLocal("(for state)", 1), p.newLocal("(for control)", 2)}
	s.variables = []*variable{p.newLocal(name, 3)}
	for p.accept(',') {
		s.variables = append(s.variables, p.newLocal(p.name(), 3+len(s.variables)))
	}
	p.expect(tokIn)
	s.line = p.line // as in Lua 5.1, where the generator begins
	s.values = p.expressions()
	s.base = len(p.fn.active)
	p.activate(hidden...)
	p.expect(tokDo)
	p.activate(s.variables...)
	s.body = p.loop()
	return s
}

func (p *parser) functionStatement(line int) stmt {
	p.advance()
	target, isMethod := p.variable(p.name()), false
	for p.token == '.' || p.token == ':' {
		isMethod = p.token == ':'
		p.advance()
		target = &indexExpr{target, &stringExpr{p.name()}, p.line}
		if isMethod {
			break
		}
	}
	return &assignStmt{[]expr{target}, []expr{p.function(isMethod, line)}, line}
}

func (p *parser) localStatement(line int) stmt {
	s := &localStmt{line: line}
	for {
		s.variables = append(s.variables, p.newLocal(p.name(), len(s.variables)))
		if !p.accept(',') {
			break
		}
	}
	if p.accept('=') {
		s.values = p.expressions()
	}
	p.activate(s.variables...)
	return s
}

func (p *parser) expressionStatement() stmt {
	e := p.primary()
	if call, ok := e.(*callExpr); ok {
		return &callStmt{call}
	}
	s := &assignStmt{}
	for {
		switch e.(type) {
		case *localExpr, *upvalExpr, *globalExpr, *indexExpr:
		default:
			p.unexpected("syntax error")
		}
		s.targets = append(s.targets, e)
		if !p.accept(',') {
			break
		}
		if len(s.targets) > maxLevels {
			p.fail(fmt.Sprintf("main function has more than %d variables in assignment", maxLevels), 0)
		}
		e = p.primary()
	}
	p.expect('=')
	s.values = p.expressions()
	s.line = p.lastLine
	return s
}
