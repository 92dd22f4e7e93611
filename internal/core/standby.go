package core

import (
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// StandbyConfig reads the URL of a standby as Open reads that of the primary,
// for a pool of connections that only read. It connects to nothing. With
// several hosts in the URL the first that answers is used; add
// target_session_attrs to say which.
//
// Error: one that says what is wrong with the URL or the options.
func StandbyConfig(url string, opts Options) (*pgxpool.Config, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := poolConfig(url, &o)
	if err == nil && !strings.Contains(url, "target_session_attrs") {
		config.ConnConfig.ValidateConnect = nil
	}
	return config, err
}
