package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// awaitReady repeats a healthcheck until it prints this and succeeds: a server gives its
// database a second, which may be too little on a busy machine.
func awaitReady(t *testing.T, want string, env []string, args ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return execute(t, "", env, append([]string{"healthcheck"}, args...)...) == result{out: want}
	}, time.Minute, 10*time.Millisecond, args)
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2", "HOWDAH_TOKEN=hunter3"}, "--database-url", url)
	check := func(env []string, args ...string) result {
		return execute(t, "", env, append([]string{"healthcheck"}, args...)...)
	}
	awaitReady(t, "ready\n", nil, "--http", p.http)
	awaitReady(t, "ready\n", nil, "--redis", p.redis) // a password is not needed
	awaitReady(t, "{\"status\":\"ready\"}\n", nil, "--http", p.http, "--output", "json")
	_, port, err := net.SplitHostPort(p.http)
	require.NoError(t, err)
	awaitReady(t, "ready\n", []string{"HOWDAH_HTTP_ADDR=0.0.0.0:" + port, "HTTP_PROXY=http://127.0.0.1:1"}) // the address that serve would take

	query(t, url, "INSERT INTO howdah.migration (version, name, breaking) VALUES (9999, 'future', true)")
	r := check(nil, "--http", p.http)
	require.Equal(t, exitFailed, r.code, r.out)
	require.Contains(t, r.err, "howdah: unavailable: ")
	require.Equal(t, 1, strings.Count(r.err, "\n"))

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for want, args := range map[string][]string{
		"cannot reach the server at 127.0.0.1:1": {"--http", "127.0.0.1:1"},
		"at localhost:1":                         {"--redis", ":1"},
		"no answer within 50ms":                  {"--http", silent.Addr().String(), "--timeout", "50ms"},
		"no answer within 51ms":                  {"--redis", silent.Addr().String(), "--timeout", "51ms"},
		"is no Howdah server":                    {"--http", strings.TrimPrefix(other.URL, "http://")},
	} {
		r := check(nil, args...)
		require.Equal(t, exitFailed, r.code, args)
		require.Contains(t, r.err, want)
		require.Empty(t, r.out)
	}
	r = check([]string{"HOWDAH_HTTP_ADDR=" + p.http}, "--data-dir", t.TempDir()) // none is asked but the one that is named
	require.Equal(t, exitFailed, r.code, r.out)
	require.Contains(t, r.err, "is running in ")
	require.Equal(t, exitUsage, check(nil, "--http", p.http, "--redis", p.redis).code)
	require.Equal(t, exitUsage, check(nil, "--http", "nonsense").code)
	require.Equal(t, exitUsage, check([]string{"HOWDAH_HTTP_ADDR=off"}).code)
}

func TestHealthcheckTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	env := []string{"HOWDAH_TLS_CERT=" + cert, "HOWDAH_TLS_KEY=" + key}
	p := serve(t, env, "--database-url", pgtest.New(t))
	for _, args := range [][]string{{"--http", p.http}, {"--redis", p.redis}} {
		awaitReady(t, "ready\n", env, args...) // TLS by the environment of the server
		awaitReady(t, "ready\n", nil, append(args, "--tls")...)
		require.Equal(t, exitFailed, execute(t, "", nil, append([]string{"healthcheck"}, args...)...).code)
	}
}

// certificate writes a certificate for 127.0.0.1, signed by itself, and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "howdah"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return file
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private)
}
