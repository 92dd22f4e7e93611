//go:build !peers

package schema_test

import "testing"

// moreDivided are those of divided_peers_test.go.
var moreDivided map[string]func(*testing.T)
