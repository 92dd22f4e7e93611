package workload

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Documents makes session documents as web applications keep them: JSON of
// about 250 bytes that names its user and differs from time to time. It
// belongs to one goroutine.
type Documents struct {
	rng  *rand.Rand
	text []byte
}

// NewDocuments makes the documents of a seed.
func NewDocuments(seed uint64) *Documents {
	return &Documents{rng: rand.New(rand.NewPCG(seed, 0))}
}

const documentHead = `{"user":"%012d",`

// Of is a document of a user, valid until the next call.
func (d *Documents) Of(user int) []byte {
	var noise [32]byte
	for i := range noise {
		noise[i] = byte(d.rng.Uint32())
	}
	d.text = fmt.Appendf(d.text[:0], documentHead+`"roles":["reader","editor"],"locale":"en-GB","csrf":"%s","theme":"dark","cart":[{"sku":"A-%04d","n":2},{"sku":"B-%04d","n":1}],"last":"2026-01-02T03:04:05Z","page":"/articles/%06d"}`,
		user, hex.EncodeToString(noise[:]), d.rng.IntN(10000), d.rng.IntN(10000), d.rng.IntN(1000000))
	return d.text
}

// CheckDocument tells whether an answer is a document of a user.
func CheckDocument(user int, document []byte) error {
	if !bytes.HasPrefix(document, fmt.Appendf(nil, documentHead, user)) || !bytes.HasSuffix(document, []byte("}")) {
		return fmt.Errorf("user %d: this is not the document: %.60q", user, document)
	}
	return nil
}
