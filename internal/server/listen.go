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
)

// listenerSpec is one listener, in the words of the flags that set it.
type listenerSpec struct {
	addr, addrFlag     string
	secret, secretFlag string
	tls                *tls.Config // nil: plain
}

// listen opens the listener, or says in one sentence why not.
func (l listenerSpec) listen(ctx context.Context) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", l.addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not an address to listen on: write host:port, such as 127.0.0.1:6379", l.addrFlag, l.addr)
	}
	if l.secret == "" && !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("refusing to listen on %s, which other machines can reach, without a secret: set %s, or let %s be a loopback address such as 127.0.0.1:%d",
			l.addr, l.secretFlag, l.addrFlag, addr.Port)
	}
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Minute, Interval: time.Minute, Count: 3,
	}}
	listener, err := config.Listen(ctx, "tcp", addr.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use: stop the program that listens there, or choose another address with %s", l.addr, l.addrFlag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no permission to listen on %s: choose a port above 1023 with %s", l.addr, l.addrFlag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is not an address of this machine: choose another with %s", l.addr, l.addrFlag)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", l.addr, err)
	}
	if l.tls != nil {
		listener = tls.NewListener(listener, l.tls)
	}
	return listener, nil
}

// tlsConfig reads the certificate, or returns nil if there is none to read.
func tlsConfig(certFile, keyFile, clientCAFile string) (*tls.Config, error) {
	if certFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot use --tls-cert %s and --tls-key %s: %w", certFile, keyFile, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if clientCAFile != "" {
		pem, err := os.ReadFile(clientCAFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read --tls-client-ca: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-client-ca %s holds no certificate in PEM form", clientCAFile)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
