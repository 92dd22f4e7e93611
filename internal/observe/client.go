package observe

import (
	"context"
	"strings"
)

// The doors through which a call may come.
const (
	DoorRedis   = "RESP"
	DoorHTTP    = "HTTP"
	DoorGo      = "Go"      // the program itself, and programs that use the library
	DoorConsole = "console" // people, in the browser
	DoorUpkeep  = "upkeep"
)

// Client is who made a call, as far as its door knows, in texts that CutName has cut. It is
// immutable: a client that
// changes its name is another Client from then on. Fields that are not known are "".
type Client struct {
	Door    string // one of the constants above
	Name    string // CLIENT SETNAME
	Library string // CLIENT SETINFO LIB-NAME; over HTTP the User-Agent
	Version string // CLIENT SETINFO LIB-VER
	Address string // host:port
}

// maxName is how many bytes of a text are kept that a client has chosen.
const maxName = 128

// CutName is what is kept of a name that a client has chosen.
func CutName(name string) string {
	if len(name) > maxName {
		return strings.Clone(name[:maxName]) // not the rest with it
	}
	return name
}

// direct is the Client of calls for which no door has named one.
var direct = Client{Door: DoorGo}

// orDirect returns the client, or that of Go where there is none.
func (c *Client) orDirect() *Client {
	if c == nil {
		return &direct
	}
	return c
}

type clientKey struct{}

// NewContext returns a context whose calls are those of a client, for what concerns a whole
// cache or database. Calls on keys are named by core.Cache.As, which costs them less.
func NewContext(ctx context.Context, client *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// FromContext returns the client that NewContext has put into a context, or nil.
func FromContext(ctx context.Context) *Client {
	client, _ := ctx.Value(clientKey{}).(*Client)
	return client
}

// Caller is a client and the command by which it calls.
type Caller struct {
	Client  *Client // nil: no door has named one, which is a call of Go
	Command string  // in lower case, such as "getdel"; "": the verb of the call says enough
}
