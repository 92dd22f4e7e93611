package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/embedded"
)

// processFlags say which running "howdah serve" a command asks: the one that is named, else the
// one of this machine whose data directory it is. No port is guessed: behind it may be a Redis.
type processFlags struct {
	server, dataDir, passwordFile string

	cmd *cobra.Command
}

const serverUsage = `running server to ask: redis://[:password@]host:port[/database], or rediss:// for TLS (default: the "howdah serve" of --data-dir)`

// add adds the flags but --server, whose usage may differ.
func (p *processFlags) add(cmd *cobra.Command) {
	p.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&p.passwordFile, "password-file", "", "file that holds the password of the server (also: HOWDAH_PASSWORD)")
	fromEnvironment(f, "server", "password-file")
	addDataDir(cmd, &p.dataDir)
}

// addServer adds --server with the others.
func (p *processFlags) addServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.server, "server", "", serverUsage)
	p.add(cmd)
}

// find returns where the server is. What a flag names comes before what the environment does.
func (p *processFlags) find() (address, error) {
	if typed(p.cmd, "server") && typed(p.cmd, "data-dir") {
		return address{}, usagef("give one of --server and --data-dir")
	}
	if p.server != "" && !typed(p.cmd, "data-dir") {
		return parseServer(p.server)
	}
	at, err := findHere(p.dataDir)
	if addr := os.Getenv("HOWDAH_REDIS_ADDR"); err != nil && addr != "" && addr != "off" && !typed(p.cmd, "data-dir") {
		host, err := reachable(addr)
		return address{host: host, secure: os.Getenv("HOWDAH_TLS_CERT") != ""}, err
	}
	return at, err
}

// withPassword is find, with the password that the URL does not give.
func (p *processFlags) withPassword() (address, error) {
	at, err := p.find()
	if err != nil {
		return at, err
	}
	if _, given := at.user.Password(); given {
		return at, nil
	}
	password := os.Getenv("HOWDAH_PASSWORD")
	if p.passwordFile != "" && (password == "" || typed(p.cmd, "password-file")) {
		if password, err = secret("password", "", p.passwordFile); err != nil {
			return at, err
		}
	}
	if password != "" {
		at.user, at.offered = url.UserPassword(at.user.Username(), password), true
	}
	return at, nil
}

// findHere finds the server of this machine that runs the embedded PostgreSQL of a data directory.
func findHere(dataDir string) (address, error) {
	dir, err := orDefault(dataDir, embedded.DefaultDataDir)
	if err != nil {
		return address{}, err
	}
	if _, err := embedded.Running(dir); err != nil {
		if !errors.Is(err, embedded.ErrNotRunning) {
			return address{}, err
		}
		return address{}, fmt.Errorf(`no "howdah serve" is running in %s: start one, name its data directory with --data-dir, or name a server with --server redis://host:port`, dir)
	}
	at, err := readAddresses(dir)
	if err != nil {
		return address{}, err
	}
	if at.Redis == "" {
		return address{}, errors.New("the server that runs has no Redis listener")
	}
	host, err := reachable(at.Redis)
	return address{host: host, secure: at.TLS, certificate: at.Certificate}, err
}

// typed says whether a flag was given on the command line. One that the environment has set counts
// as changed too.
func typed(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed && f.Annotations[setByEnvironment] == nil
}

// config are the checks of the server's certificate: those of the system, or that it is the one
// that the server of this machine has written down.
func (a address) config() *tls.Config {
	if a.certificate == "" {
		return nil
	}
	return &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared: it need not be for "localhost"
		VerifyConnection: func(state tls.ConnectionState) error {
			if sum := sha256.Sum256(state.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != a.certificate {
				return errors.New("its certificate is not that of the server that runs here")
			}
			return nil
		},
	}
}

// identify refuses what is no Howdah, and says what it is.
func (r *remote) identify(ctx context.Context, host string) error {
	reply, err := r.send("INFO", "server")
	if err != nil {
		return fmt.Errorf("what listens at %s does not speak the Redis protocol: name a Howdah server with --server redis://host:port (%w)", host, err)
	}
	if strings.HasPrefix(string(reply.Str), "NOAUTH") {
		return replyError(reply)
	}
	info := infoFields(string(reply.Str))
	if _, ok := info["howdah_version"]; ok {
		return nil
	}
	return fmt.Errorf(`%s is %s, not Howdah: "howdah cli" talks to every server that speaks its protocol, this command only to Howdah`, host, otherServer(info))
}

// otherServer is what a server calls itself that is no Howdah.
func otherServer(info map[string]string) string {
	for _, name := range []string{"valkey", "dragonfly", "keydb", "redis"} {
		if version := info[name+"_version"]; version != "" {
			return strings.ToUpper(name[:1]) + name[1:] + " " + printable(version)
		}
	}
	return "another server"
}

// infoFields takes the reply to INFO apart.
func infoFields(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// connect connects to the server that the flags name, which must be Howdah.
func (p *processFlags) connect(ctx context.Context, cache string) (*remote, error) {
	to, err := p.withPassword()
	if err != nil {
		return nil, err
	}
	return dialServer(ctx, to, cache)
}

// dialServer connects to a server, which must be Howdah. cache may be "": see [address.choose].
func dialServer(ctx context.Context, to address, cache string) (*remote, error) {
	database, err := to.choose(cache)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, to.secure, to.host, to.config())
	if err != nil {
		return nil, fmt.Errorf("cannot reach a server at %s: start one with \"howdah serve\", or name another with --server (%w)", to.host, err)
	}
	r := newRemote(ctx, conn)
	err = r.begin(ctx, to, database)
	if err == nil {
		err = r.identify(ctx, to.host)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}
