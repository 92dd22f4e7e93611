package redisapi

import "bytes"

// slots is how many hash slots a Redis cluster has.
const slots = 16384

// slotOf returns the slot of a key by the rule of Redis: by its part between the first "{" and
// the next "}", or by all of it if there is no such part or nothing in it.
func slotOf(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if length := bytes.IndexByte(key[open+1:], '}'); length > 0 {
			key = key[open+1:][:length]
		}
	}
	return int(crc16(key) % slots)
}

// crc16Steps are the remainders of four bits, by the polynomial 0x1021.
var crc16Steps = [16]uint16{
	0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
	0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
}

// crc16 returns the checksum CRC-16/XMODEM.
func crc16(data []byte) (sum uint16) {
	for _, b := range data {
		sum = sum<<4 ^ crc16Steps[byte(sum>>12)^b>>4]
		sum = sum<<4 ^ crc16Steps[byte(sum>>12)^b&15]
	}
	return sum
}
