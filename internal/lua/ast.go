package lua

// The syntax tree. Names are resolved: a local variable knows its register and
// whether an inner function refers to it.

type variable struct {
	name     string
	register int
	captured bool
}

type expr interface{}

type (
	nilExpr    struct{}
	trueExpr   struct{}
	falseExpr  struct{}
	numberExpr struct{ n float64 }
	stringExpr struct{ s string }
	dotsExpr   struct{}
	localExpr  struct{ v *variable }
	upvalExpr  struct {
		index int
		name  string
	}
	globalExpr struct {
		name string
		line int
	}
	indexExpr struct {
		object, key expr
		line        int
	}
	callExpr struct {
		function   expr
		method     string // not empty: function is the object
		args       []expr
		line       int
		methodLine int // where the object is asked for the method
	}
	functionExpr struct {
		proto  *protoTree
		parent []upvalueSource
	}
	tableExpr struct {
		fields      []field
		array, hash int
		line        int
	}
	unaryExpr struct {
		op   token
		e    expr
		line int
	}
	binaryExpr struct {
		op          token
		left, right expr
		line        int
	}
	concatExpr struct {
		parts []expr
		line  int
	}
	parenExpr struct{ e expr } // cuts several values down to one
)

// field is an entry of a table constructor; key is nil in the array part.
type field struct {
	key, value expr
	line       int
}

type stmt interface{}

type (
	callStmt  struct{ call *callExpr }
	localStmt struct {
		variables []*variable
		values    []expr
		line      int
	}
	assignStmt struct {
		targets []expr
		values  []expr
		line    int
	}
	localFunctionStmt struct {
		variable *variable
		function *functionExpr
	}
	doStmt    struct{ body []stmt }
	whileStmt struct {
		condition expr
		body      []stmt
	}
	repeatStmt struct {
		body      []stmt
		condition expr
	}
	ifStmt struct {
		conditions []expr
		blocks     [][]stmt
		otherwise  []stmt
	}
	numericForStmt struct {
		variable           *variable
		start, limit, step expr
		body               []stmt
		line               int
	}
	genericForStmt struct {
		variables []*variable
		values    []expr
		body      []stmt
		line      int
		base      int // registers of the iterator, its state and its control variable
	}
	returnStmt struct {
		values []expr
		line   int
	}
	breakStmt struct{}
)

// upvalueSource says where a closure finds an upvalue when it is made: in a
// local variable of the function around it, or in an upvalue of that.
type upvalueSource struct {
	local *variable
	index int
	name  string
}

// protoTree is a function as parsed.
type protoTree struct {
	params    []*variable
	vararg    bool
	usesDots  bool
	needsArg  bool // the body refers to the variable arg, as in Lua 5.0
	arg       *variable
	body      []stmt
	registers int
	upvalues  []upvalueSource
	line      int
}
