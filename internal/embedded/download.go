package embedded

import (
	"context"
	"errors"
)

const DefaultRepository = "https://repo1.maven.org/maven2"

func Download(ctx context.Context, c Config) (string, error) { return "", errors.New("todo") }
