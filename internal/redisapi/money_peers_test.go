//go:build peers

package redisapi

// manyTransfers is how many scripts and transactions TestMoney runs.
const manyTransfers = 10_000
