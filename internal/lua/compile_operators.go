package lua

import "math"

func (c *compiler) unary(e *unaryExpr) evaluator {
	operand, line, kind := c.expr(e.e), e.line, nameOf(e.e)
	switch e.op {
	case tokNot:
		return func(f *frame) value { return boolean(!operand(f).truthy()) }
	case '-':
		return func(f *frame) value {
			v := operand(f)
			if v.isNumber() {
				return number(-v.n)
			}
			f.line = line
			return f.th.arithmetic(opNegate, v, v, kind, kind)
		}
	}
	return func(f *frame) value {
		v := operand(f)
		f.line = line
		return f.th.lengthOf(v, kind)
	}
}

func (c *compiler) binary(e *binaryExpr) evaluator {
	switch e.op {
	case tokAnd:
		left, right := c.expr(e.left), c.expr(e.right)
		return func(f *frame) value {
			if v := left(f); !v.truthy() {
				return v
			}
			return right(f)
		}
	case tokOr:
		left, right := c.expr(e.left), c.expr(e.right)
		return func(f *frame) value {
			if v := left(f); v.truthy() {
				return v
			}
			return right(f)
		}
	case tokEq, tokNe, '<', '>', tokLe, tokGe:
		compare := c.comparison(e)
		return func(f *frame) value { return boolean(compare(f)) }
	}
	return c.arithmetic(e)
}

func (c *compiler) arithmetic(e *binaryExpr) evaluator {
	left, right, line := c.expr(e.left), c.expr(e.right), e.line
	leftName, rightName := nameOf(e.left), nameOf(e.right)
	slow := func(f *frame, op operator, l, r value) value {
		f.line = line
		return f.th.arithmetic(op, l, r, leftName, rightName)
	}
	switch e.op {
	case '+':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n + r.n)
			}
			return slow(f, opAdd, l, r)
		}
	case '-':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n - r.n)
			}
			return slow(f, opSubtract, l, r)
		}
	case '*':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n * r.n)
			}
			return slow(f, opMultiply, l, r)
		}
	}
	op := arithmeticOperators[e.op]
	return func(f *frame) value {
		l, r := left(f), right(f)
		return slow(f, op, l, r)
	}
}

// operator is an arithmetic operation.
type operator int

const (
	opAdd operator = iota
	opSubtract
	opMultiply
	opDivide
	opModulo
	opPower
	opNegate
)

var arithmeticOperators = map[token]operator{'+': opAdd, '-': opSubtract, '*': opMultiply, '/': opDivide, '%': opModulo, '^': opPower}

var arithmeticEvents = [...]string{"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm"}

func (op operator) apply(a, b float64) float64 {
	switch op {
	case opAdd:
		return a + b
	case opSubtract:
		return a - b
	case opMultiply:
		return a * b
	case opDivide:
		return a / b
	case opModulo:
		return a - math.Floor(a/b)*b
	case opPower:
		return power(a, b)
	}
	return -a
}

func (c *compiler) concat(e *concatExpr) evaluator {
	names := make([]string, len(e.parts))
	single := make([]expr, len(e.parts)) // each part is one value
	for i, p := range e.parts {
		names[i] = nameOf(p)
		single[i] = &parenExpr{p}
	}
	parts := c.list(single)
	line := e.line
	return func(f *frame) value {
		mark := f.th.stack.mark()
		values := parts(f)
		f.line = line
		v := f.th.concat(values, names)
		f.th.stack.release(mark)
		return v
	}
}
