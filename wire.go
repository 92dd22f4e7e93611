package howdah

import "encoding/binary"

// The statements take arrays in PostgreSQL's binary format, which is written
// here directly: one pass over the rows, one buffer, no reflection.
// Layout: src/backend/utils/adt/arrayfuncs.c, array_recv.

const (
	oidBool  = 16
	oidBytea = 17
	oidInt8  = 20
	oidInt4  = 23
	oidText  = 25
)

// postgresEpoch is 2000-01-01 in microseconds of the Unix epoch; timestamps
// travel relative to it.
const postgresEpoch = 946684800 * 1000000

// infinity is timestamptz 'infinity' on the wire.
const infinity = 1<<63 - 1

// appendArrayHeader begins a one-dimensional array of n elements.
func appendArrayHeader(dst []byte, oid uint32, n int, hasNull bool) []byte {
	var null uint32
	if hasNull {
		null = 1
	}
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint32(dst, null)
	dst = binary.BigEndian.AppendUint32(dst, oid)
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	return binary.BigEndian.AppendUint32(dst, 1)
}

func appendInt8(dst []byte, v int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 8)
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

func appendInt4(dst []byte, v int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 4)
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

func appendBool(dst []byte, v bool) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 1)
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendBytes(dst, v []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

func appendNull(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, 0xffffffff)
}

func readInt8(v []byte) int64 { return int64(binary.BigEndian.Uint64(v)) }
func readInt4(v []byte) int32 { return int32(binary.BigEndian.Uint32(v)) }
func readBool(v []byte) bool  { return len(v) == 1 && v[0] == 1 }
