package howdah

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// keyHash is the identity of a key in its table: the first 63 bits of SHA-256
// over the database's seed and the key. howdah.key_hash computes the same in
// SQL. The seed keeps anybody from constructing keys that collide.
func (db *DB) keyHash(key []byte) int64 {
	var short [128]byte
	buf := append(append(short[:0], db.seed...), key...)
	sum := sha256.Sum256(buf)
	return int64(binary.BigEndian.Uint64(sum[:8]) & math.MaxInt64)
}
