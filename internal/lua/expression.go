package lua

import "math"

// variable resolves a name: a local variable, an upvalue or a global.
func (p *parser) variable(name string) expr {
	if e := p.resolve(p.fn, name); e != nil {
		return e
	}
	return &globalExpr{name, p.lastLine}
}

func (p *parser) resolve(fn *functionState, name string) expr {
	if fn == nil {
		return nil
	}
	for i := len(fn.active) - 1; i >= 0; i-- {
		if v := fn.active[i]; v.name == name {
			if v == fn.tree.arg {
				fn.tree.needsArg = true
			}
			return &localExpr{v}
		}
	}
	switch e := p.resolve(fn.parent, name).(type) {
	case *localExpr:
		e.v.captured = true
		return &upvalExpr{p.upvalue(fn, upvalueSource{local: e.v, name: name}), name}
	case *upvalExpr:
		return &upvalExpr{p.upvalue(fn, upvalueSource{index: e.index, name: name}), name}
	}
	return nil
}

func (p *parser) upvalue(fn *functionState, source upvalueSource) int {
	for i, u := range fn.tree.upvalues {
		if u == source {
			return i
		}
	}
	fn.tree.upvalues = append(fn.tree.upvalues, source)
	current := p.fn
	p.fn = fn
	p.limit(len(fn.tree.upvalues), maxUpvalues, "upvalues")
	p.fn = current
	return len(fn.tree.upvalues) - 1
}

func (p *parser) expressions() []expr {
	list := []expr{p.expression()}
	for p.accept(',') {
		list = append(list, p.expression())
	}
	return list
}

func (p *parser) prefix() expr {
	switch p.token {
	case '(':
		line := p.line
		p.advance()
		e := p.expression()
		p.match(')', '(', line)
		return &parenExpr{e}
	case tokName:
		return p.variable(p.name())
	}
	p.unexpected("unexpected symbol")
	return nil
}

// primary is a prefix with its suffixes: fields, indices and calls.
func (p *parser) primary() expr {
	e := p.prefix()
	for chain := 0; ; chain++ {
		if chain > maxChain {
			p.fail("chunk has too many syntax levels", 0)
		}
		switch p.token {
		case '.':
			p.advance()
			e = &indexExpr{e, &stringExpr{p.name()}, p.lastLine}
		case '[':
			p.advance()
			key := p.expression()
			p.expect(']')
			e = &indexExpr{e, key, p.lastLine}
		case ':':
			p.advance()
			method := p.name()
			call := &callExpr{function: e, method: method, methodLine: p.lastLine, line: p.line}
			call.args = p.arguments()
			e = call
		case '(', tokString, '{':
			line := p.line
			e = &callExpr{function: e, args: p.arguments(), line: line}
		default:
			return e
		}
	}
}

func (p *parser) arguments() []expr {
	switch p.token {
	case '(':
		line := p.line
		if line != p.lastLine {
			p.unexpected("ambiguous syntax (function call x new statement)")
		}
		p.advance()
		if p.accept(')') {
			return nil
		}
		args := p.expressions()
		p.match(')', '(', line)
		return args
	case '{':
		return []expr{p.tableConstructor()}
	case tokString:
		s := p.text
		p.advance()
		return []expr{&stringExpr{s}}
	}
	p.unexpected("function arguments expected")
	return nil
}

func (p *parser) tableConstructor() expr {
	line := p.line
	t := &tableExpr{line: line}
	p.expect('{')
	for p.token != '}' {
		var f field
		switch {
		case p.token == tokName && p.lookahead() == '=':
			f.key = &stringExpr{p.name()}
			p.expect('=')
		case p.token == '[':
			p.advance()
			f.key = p.expression()
			p.expect(']')
			p.expect('=')
		}
		f.value = p.expression()
		f.line = p.lastLine
		if f.key != nil {
			t.hash++
		} else {
			t.array++
		}
		t.fields = append(t.fields, f)
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.match('}', '{', line)
	return t
}

func (p *parser) simple() expr {
	var e expr
	switch p.token {
	case tokNumber:
		e = &numberExpr{p.number}
	case tokString:
		e = &stringExpr{p.text}
	case tokNil:
		e = &nilExpr{}
	case tokTrue:
		e = &trueExpr{}
	case tokFalse:
		e = &falseExpr{}
	case tokDots:
		if !p.fn.tree.vararg {
			p.unexpected("cannot use '...' outside a vararg function")
		}
		p.fn.tree.usesDots = true
		e = &dotsExpr{}
	case '{':
		return p.tableConstructor()
	case tokFunction:
		line := p.line
		p.advance()
		return p.function(false, line)
	default:
		return p.primary()
	}
	p.advance()
	return e
}

// priority of an operator, to its left and to its right.
func priority(op token) (left, right int) {
	switch op {
	case tokOr:
		return 1, 1
	case tokAnd:
		return 2, 2
	case tokNe, tokEq, '<', tokLe, '>', tokGe:
		return 3, 3
	case tokConcat:
		return 5, 4
	case '+', '-':
		return 6, 6
	case '*', '/', '%':
		return 7, 7
	case '^':
		return 10, 9
	}
	return 0, 0
}

const unaryPriority = 8

func (p *parser) expression() expr { return p.operators(0) }

// operators reads an expression of operators that bind closer than a limit.
func (p *parser) operators(limit int) expr {
	p.enter()
	defer p.leave()
	var e expr
	switch p.token {
	case tokNot, '-', '#':
		op := p.token
		p.advance()
		operand := p.operators(unaryPriority)
		e = foldUnary(&unaryExpr{op, operand, p.lastLine})
	default:
		e = p.simple()
	}
	for chain := 0; ; chain++ {
		op := p.token
		left, right := priority(op)
		if left <= limit {
			return e
		}
		if chain > maxChain {
			p.fail("chunk has too many syntax levels", 0)
		}
		p.advance()
		second := p.operators(right)
		if op == tokConcat {
			e = concat(e, second, p.lastLine)
		} else {
			e = foldBinary(&binaryExpr{op, e, second, p.lastLine})
		}
	}
}

// literal is the number that an expression is, in parentheses or not.
func literal(e expr) (n float64, ok bool) {
	switch e := e.(type) {
	case *numberExpr:
		return e.n, true
	case *parenExpr:
		return literal(e.e)
	}
	return 0, false
}

// foldUnary makes a negative literal a constant.
func foldUnary(u *unaryExpr) expr {
	if n, ok := literal(u.e); ok && u.op == '-' {
		return &numberExpr{-n}
	}
	return u
}

// foldBinary makes arithmetic with literals a constant, where Lua 5.1 does.
func foldBinary(b *binaryExpr) expr {
	op, arithmetic := arithmeticOperators[b.op]
	left, ok1 := literal(b.left)
	right, ok2 := literal(b.right)
	if !arithmetic || !ok1 || !ok2 || right == 0 && (op == opDivide || op == opModulo) {
		return b
	}
	n := op.apply(left, right)
	if math.IsNaN(n) {
		return b
	}
	return &numberExpr{n}
}

// concat joins what stands in a row of "..".
func concat(left, right expr, line int) expr {
	if c, ok := right.(*concatExpr); ok {
		return &concatExpr{append([]expr{left}, c.parts...), line}
	}
	return &concatExpr{[]expr{left, right}, line}
}

// function parses the parameters and the body of a function.
func (p *parser) function(isMethod bool, line int) *functionExpr {
	fn := &functionState{tree: &protoTree{line: line}, parent: p.fn}
	p.fn = fn
	p.expect('(')
	if isMethod {
		v := p.newLocal("self", 0)
		p.activate(v)
		fn.tree.params = append(fn.tree.params, v)
	}
	p.parameters(fn)
	p.expect(')')
	fn.tree.body = p.chunk()
	p.match(tokEnd, tokFunction, line)
	p.fn = fn.parent
	return &functionExpr{fn.tree, fn.tree.upvalues}
}

func (p *parser) parameters(fn *functionState) {
	var params []*variable
	for p.token != ')' {
		if p.accept(tokDots) {
			fn.tree.vararg = true
			fn.tree.arg = p.newLocal("arg", len(params))
			break
		}
		if p.token != tokName {
			p.unexpected("<name> or '...' expected")
		}
		params = append(params, p.newLocal(p.name(), len(params)))
		if !p.accept(',') {
			break
		}
		if p.token != tokName && p.token != tokDots {
			p.unexpected("<name> or '...' expected")
		}
	}
	p.activate(params...)
	fn.tree.params = append(fn.tree.params, params...)
	if fn.tree.arg != nil {
		p.activate(fn.tree.arg)
	}
}
