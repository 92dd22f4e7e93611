package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/resp"
)

// healthCheck is what the flags of "howdah healthcheck" ask for.
type healthCheck struct {
	http, redis string
	dataDir     string
	here        bool // dataDir was given on the command line
	tls         bool
	timeout     durationFlag
	output      outputFormat
}

// defaultHealthTimeout is shorter than the time that orchestrators give a check.
const defaultHealthTimeout = 2 * time.Second

// healthJSON is the result of a check that succeeded.
type healthJSON struct {
	Status string `json:"status"`           // "ready", or "degraded"
	Reason string `json:"reason,omitempty"` // why it is degraded
}

func newHealthcheck() *cobra.Command {
	h := healthCheck{timeout: durationFlag(defaultHealthTimeout)}
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a server whether it is ready; exits 0 or 1",
		Long: `Ask a server whether it is ready, in one line. Exits 0 if it is, and 1 if it is
not or does not answer.

By default it asks /readyz of the HTTP listener, at the address that "howdah serve"
would take from the same environment variables (HOWDAH_HTTP_ADDR), else at that of
the "howdah serve" of the data directory, else at 127.0.0.1:8080. With --data-dir it
asks the "howdah serve" of that alone. With --redis it sends PING, which says nothing about PostgreSQL.
Neither needs a password or a token.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(h.timeout))
			defer cancel()
			if !cmd.Flags().Changed("tls") {
				h.tls = os.Getenv("HOWDAH_TLS_CERT") != ""
			}
			h.here = typed(cmd, "data-dir")
			health, err := h.run(ctx)
			if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
				err = fmt.Errorf("no answer within %v", time.Duration(h.timeout))
			}
			if err != nil {
				return err
			}
			text := health.Status
			if health.Reason != "" {
				text += ": " + printable(health.Reason)
			}
			return h.output.print(cmd.OutOrStdout(), health, text+"\n")
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&h.http, "http", "", "HTTP listener to ask (default: HOWDAH_HTTP_ADDR, else that of the \"howdah serve\" of --data-dir, else 127.0.0.1:8080)")
	addDataDir(cmd, &h.dataDir)
	f.StringVar(&h.redis, "redis", "", "send PING to this Redis listener instead")
	f.BoolVar(&h.tls, "tls", false, "the listener accepts TLS only; its certificate is not checked (default: if HOWDAH_TLS_CERT is set)")
	f.Var(&h.timeout, "timeout", "longest time that the check may take")
	h.output.add(cmd)
	return cmd
}

func (h *healthCheck) run(ctx context.Context) (healthJSON, error) {
	if h.http != "" && h.redis != "" {
		return healthJSON{}, usagef("give --http or --redis, not both")
	}
	if h.redis != "" {
		return ping(ctx, h.redis, h.tls)
	}
	if h.here && h.http == "" { // not another one, that happens to run
		url, err := listenerURL(h.dataDir, "http")
		if err != nil {
			return healthJSON{}, err
		}
		scheme, address, _ := strings.Cut(url, "://")
		return askReady(ctx, address, scheme == "https")
	}
	address := cmp.Or(h.http, os.Getenv("HOWDAH_HTTP_ADDR"))
	if address == "" {
		if here := httpHere(h.dataDir); here != "" {
			scheme, address, _ := strings.Cut(here, "://")
			return askReady(ctx, address, scheme == "https")
		}
	}
	switch address {
	case "":
		address = "127.0.0.1:8080"
	case "off":
		return healthJSON{}, usagef("HOWDAH_HTTP_ADDR is off: give --redis and the address of the Redis listener")
	}
	return askReady(ctx, address, h.tls)
}

// ownTLS does not check the certificate: it is for the name that clients use, and
// the check asks by the address of the machine and sends no secret.
func ownTLS() *tls.Config { return &tls.Config{InsecureSkipVerify: true} } //nolint:gosec // see above

// reachable is a listener's address as a client dials it: a listener on all
// addresses is asked by loopback.
func reachable(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usagef("%.100q is not an address: give host:port", address)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

// askReady asks /readyz.
func askReady(ctx context.Context, address string, secure bool) (healthJSON, error) {
	address, err := reachable(address)
	if err != nil {
		return healthJSON{}, err
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/readyz", nil)
	if err != nil {
		return healthJSON{}, usagef("%.100q is not an address: give host:port", address)
	}
	transport := &http.Transport{TLSClientConfig: ownTLS()} // no proxy: the server is on this machine
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return healthJSON{}, fmt.Errorf("cannot reach the server at %s: %w", address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return healthJSON{}, fmt.Errorf("the answer of %s ended early: %w", address, err)
	}
	var health healthJSON
	if json.Unmarshal(body, &health) != nil || health.Status == "" {
		return healthJSON{}, fmt.Errorf("%s is no Howdah server: it answers /readyz with %s", address, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return healthJSON{}, fmt.Errorf("%s: %s", printable(health.Status), printable(health.Reason))
	}
	return health, nil
}

// ping sends PING. A server that asks for a password is one that serves.
func ping(ctx context.Context, address string, secure bool) (healthJSON, error) {
	address, err := reachable(address)
	if err != nil {
		return healthJSON{}, err
	}
	conn, err := dial(ctx, secure, address, ownTLS())
	if err != nil {
		return healthJSON{}, fmt.Errorf("cannot reach the server at %s: %w", address, err)
	}
	r := newRemote(ctx, conn)
	defer r.close()
	reply, err := r.send("PING")
	switch {
	case err != nil:
		return healthJSON{}, err
	case reply.Kind == resp.Simple && string(reply.Str) == "PONG", strings.HasPrefix(string(reply.Str), "NOAUTH"):
		return healthJSON{Status: "ready"}, nil
	}
	return healthJSON{}, fmt.Errorf("the server answers PING with %s", printable(string(reply.Str)))
}
