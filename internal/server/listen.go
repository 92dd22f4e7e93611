package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/howdah/howdah/internal/redisapi"
)

// listenerSpec is one listener, with the names of the options that set it.
type listenerSpec struct {
	addr, addrOption     string
	secret, secretOption string
	tls                  *tls.Config // nil: plain
}

// listen opens the listener, or says in one sentence why not.
func (l listenerSpec) listen(ctx context.Context) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", l.addr)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("%s %q is not an address to listen on: write host:port, such as 127.0.0.1:6379", l.addrOption, l.addr)}
	}
	if l.secret == "" && !addr.IP.IsLoopback() {
		return nil, &ConfigError{fmt.Errorf("refusing to listen on %s, which other machines can reach, without a secret: set %s, or let %s be a loopback address such as 127.0.0.1:%d",
			l.addr, l.secretOption, l.addrOption, addr.Port)}
	}
	config := net.ListenConfig{KeepAliveConfig: keepAlive(keepAliveIdle)}
	listener, err := config.Listen(ctx, "tcp", addr.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use: stop the program that listens there, or choose another address with %s", l.addr, l.addrOption)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no permission to listen on %s: choose a port above 1023 with %s", l.addr, l.addrOption)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is not an address of this machine: choose another with %s", l.addr, l.addrOption)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", l.addr, err)
	}
	if l.tls != nil {
		listener = tls.NewListener(listener, l.tls)
	}
	return listener, nil
}

// keepAliveIdle is after how long without a byte a client is probed, unless it is said otherwise.
const keepAliveIdle = redisapi.DefaultKeepAlive

// keepAlive has a client probed when it has sent nothing for so long, and given up after three probes that it does
// not answer; 0: it is not probed.
func keepAlive(idle time.Duration) net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: max(idle/5, time.Second), Count: 3}
}

// tls reads the certificate, or returns nil if there is none to read.
func (c *Config) tls() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s %s and %s %s: %w", c.option("tls-cert"), c.TLSCert, c.option("tls-key"), c.TLSKey, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.TLSClientCA != "" {
		pem, err := os.ReadFile(c.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", c.option("tls-client-ca"), err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s %s holds no certificate in PEM form", c.option("tls-client-ca"), c.TLSClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
