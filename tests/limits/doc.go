// Package limits judges what happens where something is scarce or held: connections,
// room in a cache, time, a locked row or table. Who is not concerned goes on, and who is
// gets an answer in time.
package limits
