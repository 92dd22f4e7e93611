package main

import (
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
	Redis string `json:"redis"`
	HTTP  string `json:"http"`
	TLS   bool   `json:"tls"`
}

// publish writes the addresses of a server that has an embedded PostgreSQL, for "howdah url".
// Without them the server is as good.
func publish(config *server.Config, log *slog.Logger) {
	if config.DatabaseURL != "" {
		return
	}
	secured := config.TLSCert != ""
	config.Ready = func(at server.Addresses) {
		if err := saveAddresses(config.DataDir, addresses{text(at.Redis), text(at.HTTP), secured}); err != nil {
			log.Warn("howdah url will not know where this server listens", "error", err)
		}
	}
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
	content, err := os.ReadFile(filepath.Join(dataDir, addressesFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the server that runs has not said where it listens: it is still starting, or of an older version")
	}
	if err != nil {
		return "", err
	}
	var at addresses
	if err := json.Unmarshal(content, &at); err != nil {
		return "", fmt.Errorf("%s cannot be understood: %w", addressesFile, err)
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
