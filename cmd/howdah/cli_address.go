package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/howdah/howdah/internal/rediscli"
	"github.com/howdah/howdah/internal/resp"
)

// cliAddress are the flags of "howdah cli" that say which server, and how.
type cliAddress struct {
	process     processFlags
	database    int
	resp3       bool
	askPassword bool

	tls, insecure      bool
	authority          string
	certificate, tlsID string
}

func (a *cliAddress) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&a.process.server, "server", "u", "", `server: redis://[user:password@]host:port[/database], or rediss:// for TLS (default: the "howdah serve" of --data-dir)`)
	f.IntVarP(&a.database, "database", "n", 0, "number of the database to select")
	f.BoolVarP(&a.resp3, "resp3", "3", false, "speak version 3 of the protocol; --output json does")
	a.process.add(cmd)
	f.BoolVar(&a.askPassword, "askpass", false, "ask for the password")
	f.BoolVar(&a.tls, "tls", false, "connect by TLS, as rediss:// does")
	f.StringVar(&a.authority, "cacert", "", "certificate authority file (PEM) that the server's certificate must be signed by (default: those of the system)")
	f.StringVar(&a.certificate, "cert", "", "certificate file (PEM) to show to the server")
	f.StringVar(&a.tlsID, "key", "", "private key file of --cert (PEM)")
	f.BoolVar(&a.insecure, "insecure", false, "do not check the certificate of the server")
}

// client returns a client that is not connected yet.
func (a *cliAddress) client(cmd *cobra.Command, resp3 bool, push func(resp.Reply)) (*rediscli.Client, error) {
	at, err := a.process.find()
	if err != nil {
		return nil, err
	}
	o := rediscli.Options{Address: at.host, RESP3: a.resp3 || resp3, Push: push, Username: at.user.Username()}
	if o.Database, err = a.choose(at.database, cmd.Flags().Changed("database")); err != nil {
		return nil, err
	}
	password, given := at.user.Password()
	if given {
		o.Password = password
	} else if o.Password, err = a.password(cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
		return nil, err
	}
	if o.TLS, err = a.tlsConfig(at); err != nil {
		return nil, err
	}
	return rediscli.New(o), nil
}

// choose returns the database of -n, or else that of the URL.
func (a *cliAddress) choose(inURL string, given bool) (int, error) {
	n, err := strconv.Atoi(cmp.Or(inURL, "0"))
	switch {
	case err != nil:
		return 0, err
	case !given:
		return n, nil
	case a.database < 0:
		return 0, usagef("-n must be a number from 0")
	case inURL != "" && n != a.database:
		return 0, usagef("--server names database %d, and -n names %d: give one of them", n, a.database)
	}
	return a.database, nil
}

// password is that of the file, of the prompt, or of the environment.
func (a *cliAddress) password(in io.Reader, errOut io.Writer) (string, error) {
	switch {
	case a.process.passwordFile != "" && a.askPassword:
		return "", usagef("give --password-file or --askpass, not both")
	case a.process.passwordFile != "":
		return secret("password", "", a.process.passwordFile)
	case !a.askPassword:
		return cmp.Or(os.Getenv("HOWDAH_PASSWORD"), os.Getenv("REDISCLI_AUTH")), nil
	}
	file, isFile := in.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return "", usagef("--askpass needs a terminal: give --password-file elsewhere")
	}
	fmt.Fprint(errOut, "Password: ")
	password, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(errOut)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the password: %w", err)
	case len(password) == 0:
		return "", errors.New("no password was given")
	}
	return string(password), nil
}

// tlsConfig returns nil for a connection without TLS.
func (a *cliAddress) tlsConfig(at address) (*tls.Config, error) {
	asked := a.authority != "" || a.certificate != "" || a.tlsID != "" || a.insecure
	switch {
	case !at.secure && !a.tls && asked:
		return nil, usagef("--cacert, --cert, --key and --insecure need --tls")
	case !at.secure && !a.tls:
		return nil, nil
	case (a.certificate == "") != (a.tlsID == ""):
		return nil, usagef("--cert and --key go together")
	}
	config := &tls.Config{InsecureSkipVerify: a.insecure} //nolint:gosec // only if it is asked for
	if own := at.config(); own != nil && !a.insecure && a.authority == "" {
		config = own
	}
	if a.authority != "" {
		content, err := os.ReadFile(a.authority)
		if err != nil {
			return nil, usageError{fmt.Errorf("cannot read --cacert: %w", err)}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, usagef("--cacert %s holds no certificate (PEM)", a.authority)
		}
	}
	if a.certificate != "" {
		pair, err := tls.LoadX509KeyPair(a.certificate, a.tlsID)
		if err != nil {
			return nil, usageError{fmt.Errorf("cannot use --cert and --key: %w", err)}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// historyFile is where the history is kept, "" if no directory is known.
func historyFile() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "howdah", "cli_history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "howdah", "cli_history")
	case "windows":
		return filepath.Join(home, "AppData", "Local", "howdah", "cli_history")
	}
	return filepath.Join(home, ".local", "state", "howdah", "cli_history")
}
