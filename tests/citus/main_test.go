package citus_test

import (
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
