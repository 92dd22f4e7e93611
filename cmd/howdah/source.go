package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/transfer"
)

// sourceFlags say how to reach a Redis server besides its URL.
type sourceFlags struct{ passwordFile, caFile, certFile, keyFile string }

func (s *sourceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.passwordFile, "password-file", "", "file that holds the password of the Redis server, so that no command line shows it")
	f.StringVar(&s.caFile, "ca-file", "", "with rediss://: certificate authorities to trust (PEM; default: those of the system)")
	f.StringVar(&s.certFile, "cert-file", "", "with rediss://: certificate to show (PEM)")
	f.StringVar(&s.keyFile, "key-file", "", "private key of --cert-file (PEM)")
}

// address is the address that a URL and the flags give.
func (s *sourceFlags) address(url string) (transfer.Address, error) {
	a, err := transfer.ParseAddress(url)
	if err != nil {
		return a, usageError{err}
	}
	if a.Password, err = secretOf("the URL with a password", a.Password, "password", s.passwordFile); err != nil {
		return a, err
	}
	if a.TLS == nil {
		if s.caFile+s.certFile+s.keyFile != "" {
			return a, usagef("--ca-file, --cert-file and --key-file go with rediss://")
		}
		return a, nil
	}
	return a, s.trust(a.TLS)
}

// secretOf is secret for a value that no flag gives.
func secretOf(given, value, flag, file string) (string, error) {
	if value != "" && file != "" {
		return "", usagef("give %s or --%s-file, not both", given, flag)
	}
	return secret(flag, value, file)
}

// trust reads the files of certificates.
func (s *sourceFlags) trust(config *tls.Config) error {
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err == nil {
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(text) {
				err = errors.New("it holds no certificate in PEM")
			}
		}
		if err != nil {
			return usagef("cannot use --ca-file %s: %w", s.caFile, err)
		}
	}
	if s.certFile+s.keyFile == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
	if err != nil {
		return usagef("cannot use --cert-file and --key-file: %w", err)
	}
	config.Certificates = []tls.Certificate{cert}
	return nil
}
