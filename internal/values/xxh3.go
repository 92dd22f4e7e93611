package values

import (
	"encoding/binary"
	"math/bits"
)

// xxh3Secret is the default secret of XXH3.
const xxh3Secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

const (
	prime32x1 = 0x9E3779B1
	prime32x2 = 0x85EBCA77
	prime32x3 = 0xC2B2AE3D
	prime64x1 = 0x9E3779B185EBCA87
	prime64x2 = 0xC2B2AE3D27D4EB4F
	prime64x3 = 0x165667B19E3779F9
	prime64x4 = 0x85EBCA77C2B2AE63
	prime64x5 = 0x27D4EB2F165667C5
	primeMx1  = 0x165667919E3779F9
	primeMx2  = 0x9FB21C651E98DF25
)

func secret64(at int) uint64 {
	var b [8]byte
	copy(b[:], xxh3Secret[at:])
	return binary.LittleEndian.Uint64(b[:])
}

func le32(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func foldedProduct(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func xxh64Avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime64x2
	h = (h ^ h>>29) * prime64x3
	return h ^ h>>32
}

func xxh3Avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * primeMx1
	return h ^ h>>32
}

// xxh3 is the 64-bit XXH3 hash with seed 0, which DIGEST gives.
func xxh3(b []byte) uint64 {
	n := len(b)
	switch {
	case n == 0:
		return xxh64Avalanche(secret64(56) ^ secret64(64))
	case n <= 3:
		combined := uint64(b[0])<<16 | uint64(b[n/2])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return xxh64Avalanche(combined ^ (secret64(0)&0xffffffff ^ secret64(4)&0xffffffff))
	case n <= 8:
		h := (le32(b[n-4:]) + le32(b)<<32) ^ (secret64(8) ^ secret64(16))
		h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
		h *= primeMx2
		h ^= h>>35 + uint64(n)
		h *= primeMx2
		return h ^ h>>28
	case n <= 16:
		low := le64(b) ^ (secret64(24) ^ secret64(32))
		high := le64(b[n-8:]) ^ (secret64(40) ^ secret64(48))
		return xxh3Avalanche(uint64(n) + bits.ReverseBytes64(low) + high + foldedProduct(low, high))
	case n <= 128:
		return xxh3Medium(b)
	case n <= 240:
		return xxh3Large(b)
	}
	return xxh3Long(b)
}

func mix16(b []byte, secret int) uint64 {
	return foldedProduct(le64(b)^secret64(secret), le64(b[8:])^secret64(secret+8))
}

func xxh3Medium(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := (n - 1) / 32; i >= 0; i-- {
		h += mix16(b[16*i:], 32*i) + mix16(b[n-16*(i+1):], 32*i+16)
	}
	return xxh3Avalanche(h)
}

func xxh3Large(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := range 8 {
		h += mix16(b[16*i:], 16*i)
	}
	h = xxh3Avalanche(h)
	for i := 8; i < n/16; i++ {
		h += mix16(b[16*i:], 16*(i-8)+3)
	}
	return xxh3Avalanche(h + mix16(b[n-16:], 136-17))
}

// xxh3Long hashes in blocks of 16 stripes of 64 bytes.
func xxh3Long(b []byte) uint64 {
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	const stripe, stripes = 64, (192 - 64) / 8
	n := len(b)
	rest := b
	for len(rest) > stripe*stripes {
		for i := range stripes {
			accumulate(&acc, rest[stripe*i:], 8*i)
		}
		for i := range acc {
			a := acc[i]
			acc[i] = (a ^ a>>47 ^ secret64(192-64+8*i)) * prime32x1
		}
		rest = rest[stripe*stripes:]
	}
	for i := range (len(rest) - 1) / stripe {
		accumulate(&acc, rest[stripe*i:], 8*i)
	}
	accumulate(&acc, b[n-stripe:], 192-64-7)
	h := uint64(n) * prime64x1
	for i := range 4 {
		h += foldedProduct(acc[2*i]^secret64(11+16*i), acc[2*i+1]^secret64(11+16*i+8))
	}
	return xxh3Avalanche(h)
}

func accumulate(acc *[8]uint64, b []byte, secret int) {
	for i := range 8 {
		data := le64(b[8*i:])
		key := data ^ secret64(secret+8*i)
		acc[i^1] += data
		acc[i] += (key & 0xffffffff) * (key >> 32)
	}
}
