package server

import (
	"crypto/tls"
	"io"
	"net"
	"time"
)

// lingerTime bounds how long a connection whose last reply is written waits for
// its client to close it.
const lingerTime = 500 * time.Millisecond

// linger tells the client that no more replies come, and drops what it still
// sends, until it closes the connection or lingerTime is over. To close a
// connection at once, with input unread or on its way, would send a reset,
// which can destroy replies that the client has not received yet (RFC 9112,
// section 9.6, describes it for HTTP).
func linger(nc net.Conn) {
	if tc, ok := nc.(*tls.Conn); ok {
		_ = tc.SetWriteDeadline(time.Now().Add(lingerTime))
		_ = tc.CloseWrite()
		nc = tc.NetConn()
	}
	if tcp, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = tcp.CloseWrite()
	}
	_ = nc.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, nc)
}
