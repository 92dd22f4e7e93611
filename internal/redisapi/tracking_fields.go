package redisapi

import (
	"time"

	"github.com/howdah/howdah/internal/values"
)

// noteFieldExpiries takes note of when the next field expires of hashes that were read. now is
// the time of the database, in milliseconds since 1970.
func (c *Conn) noteFieldExpiries(keys [][]byte, read values.Keyspace, now int64) {
	db := c.engine.options.DB
	for _, key := range keys {
		if h, ok := read.Entry(key).Value.(*values.Hash); ok && h.NextExpiry() != 0 {
			db.Tracking().Expires(db.Hash(key), time.Now().Add(time.Duration(h.NextExpiry()-now)*time.Millisecond))
		}
	}
}
