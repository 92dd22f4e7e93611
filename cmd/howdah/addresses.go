package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/server"
)

// addressesFile is where "howdah serve" says, beside the data of its embedded PostgreSQL,
// where it listens.
const addressesFile = "howdah.addresses"

// addresses are where a server listens: host:port, "" where it does not.
type addresses struct {
	Redis       string `json:"redis"`
	HTTP        string `json:"http"`
	TLS         bool   `json:"tls"`
	Certificate string `json:"certificate,omitempty"` // SHA-256 of the certificate, as hexadecimal digits
}

// publish writes the addresses of a server that has an embedded PostgreSQL, for the commands that
// look for it. Without them the server is as good.
func publish(config *server.Config, log *slog.Logger, screen *startScreen) {
	config.Ready = func(at server.Addresses) {
		defer screen.ready(config, at)
		if config.DatabaseURL != "" {
			return
		}
		here := addresses{text(at.Redis), text(at.HTTP), config.TLSCert != "", fingerprint(config.TLSCert, config.TLSKey)}
		if err := saveAddresses(config.DataDir, here); err != nil {
			log.Warn("other commands will not know where this server listens", "error", err)
		}
	}
}

// fingerprint is that of the certificate that the server shows, "" for none.
func fingerprint(certFile, keyFile string) string {
	if certFile == "" {
		return ""
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return "" // it was read before; without it the usual checks hold
	}
	sum := sha256.Sum256(pair.Certificate[0])
	return hex.EncodeToString(sum[:])
}

func text(address net.Addr) string {
	if address == nil {
		return ""
	}
	return address.String()
}

// saveAddresses replaces the file in one step: "howdah url" may read it meanwhile.
func saveAddresses(dir string, at addresses) error {
	content, err := json.Marshal(at)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, addressesFile)
	if err := os.WriteFile(file+".new", append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// readAddresses reads the addresses of the server that runs in a data directory.
func readAddresses(dataDir string) (at addresses, err error) {
	content, err := os.ReadFile(filepath.Join(dataDir, addressesFile))
	if errors.Is(err, os.ErrNotExist) {
		return at, errors.New("the server that runs has not said where it listens: it is still starting, or of an older version")
	}
	if err != nil {
		return at, err
	}
	if err := json.Unmarshal(content, &at); err != nil {
		return at, fmt.Errorf("%s cannot be understood: %w", addressesFile, err)
	}
	return at, nil
}

// listenerURL returns the URL of a listener of the server whose embedded PostgreSQL runs:
// "redis" or "http". It has no password.
func listenerURL(dataDir, kind string) (string, error) {
	if _, err := embeddedURL(dataDir, false); err != nil {
		return "", err
	}
	dataDir, err := orDefault(dataDir, embedded.DefaultDataDir)
	if err != nil {
		return "", err
	}
	at, err := readAddresses(dataDir)
	if err != nil {
		return "", err
	}
	address, scheme := at.Redis, "redis"
	if kind == "http" {
		address, scheme = at.HTTP, "http"
	}
	if address == "" {
		return "", fmt.Errorf("the server that runs has no %s listener", map[string]string{"redis": "Redis", "http": "HTTP"}[kind])
	}
	if at.TLS {
		scheme += "s"
	}
	if address, err = reachable(address); err != nil {
		return "", err
	}
	return scheme + "://" + address, nil
}

// httpHere is the URL of the HTTP listener of the server of a data directory, "" if none is running.
func httpHere(dataDir string) string {
	url, err := listenerURL(dataDir, "http")
	if err != nil {
		return ""
	}
	return url
}
