// Package pgurl reads the URL of a PostgreSQL database, with what Howdah adds
// to it.
package pgurl

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SplitPooler takes the parameter pooler, which pgx would send to the server,
// out of a URL. pooler is "" or "transaction"; anything else is an error.
func SplitPooler(databaseURL string) (rest, pooler string, err error) {
	if !strings.HasPrefix(databaseURL, "postgres://") && !strings.HasPrefix(databaseURL, "postgresql://") {
		return databaseURL, "", nil
	}
	// Not url.Parse: it refuses several hosts with ports.
	address, parameters, _ := strings.Cut(databaseURL, "?")
	q, err := url.ParseQuery(parameters)
	if err != nil || !q.Has("pooler") {
		return databaseURL, "", nil // what is wrong with it, pgx says better
	}
	pooler = q.Get("pooler")
	if pooler != "" && pooler != "transaction" {
		return "", "", fmt.Errorf("pooler=%s in the URL must be pooler=transaction, or be left out", pooler)
	}
	q.Del("pooler")
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address, pooler, nil
}

// Config is how to connect once, in a way that works behind every pooler.
func Config(databaseURL string) (*pgx.ConnConfig, error) {
	rest, _, err := SplitPooler(databaseURL)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(rest)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return config, nil
}
