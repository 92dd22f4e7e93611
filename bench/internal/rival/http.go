package rival

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
)

// HTTPClient asks a cache server for /get and /set on one kept connection. It
// does just enough of HTTP/1.1 for that, so that the load generator takes as
// little as it can of the cores that it shares with the servers. It is not
// safe for concurrent use.
type HTTPClient struct {
	conn    net.Conn
	reader  *bufio.Reader
	host    string
	request bytes.Buffer
	body    []byte
}

// NewHTTPClient connects to a server.
func NewHTTPClient(addr string) (*HTTPClient, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &HTTPClient{conn: conn, reader: bufio.NewReader(conn), host: addr}, nil
}

// Get returns the value of a key, valid until the next call, and whether it
// was there.
func (c *HTTPClient) Get(key string) (value []byte, found bool, err error) {
	c.request.Reset()
	fmt.Fprintf(&c.request, "GET /get?key=%s HTTP/1.1\r\nHost: %s\r\n\r\n", key, c.host)
	status, err := c.exchange()
	switch {
	case err != nil:
		return nil, false, err
	case status == http.StatusOK:
		return c.body, true, nil
	case status == http.StatusNotFound:
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("GET /get answered %d: %s", status, c.body)
}

// Set stores a value.
func (c *HTTPClient) Set(key string, value []byte) error {
	c.request.Reset()
	fmt.Fprintf(&c.request, "POST /set?key=%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", key, c.host, len(value))
	c.request.Write(value)
	status, err := c.exchange()
	if err == nil && status != http.StatusNoContent {
		err = fmt.Errorf("POST /set answered %d: %s", status, c.body)
	}
	return err
}

// Close closes the connection.
func (c *HTTPClient) Close() error { return c.conn.Close() }

// exchange sends the request and reads the answer's status and body.
func (c *HTTPClient) exchange() (status int, err error) {
	if _, err := c.conn.Write(c.request.Bytes()); err != nil {
		return 0, err
	}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	if len(rest) < 3 {
		return 0, fmt.Errorf("not an answer in HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(rest[:3])); err != nil {
		return 0, err
	}
	length := 0
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		name, value, isField := bytes.Cut(textproto.TrimBytes(line), []byte(":"))
		if !isField {
			break // the empty line
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(textproto.TrimBytes(value))); err != nil {
				return 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, errors.New("the answer came in chunks, which this client does not read")
		}
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.reader, c.body)
	return status, err
}
