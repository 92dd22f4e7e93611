//go:build !peers

package redisapi

// manyTransfers is how many scripts and transactions TestMoney runs: more with the build tag peers.
const manyTransfers = 3000
