// Package handover checks what Howdah promises to clients that wait for elements of
// lists and sorted sets (BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BLMPOP, BZPOPMIN, BZPOPMAX,
// BZMPOP), against real servers:
//
//   - no element is delivered twice,
//   - none is lost, except with the connection that ended between the pop and the reply;
//     BLMOVE and BRPOPLPUSH, which keep the element in another list, lose none at all,
//   - of the clients that wait on one server for one key, the one that has waited longest
//     is served first,
//   - no client goes on waiting while there is an element.
//
// Producers push elements with names of their own, consumers wait for them, and
// meanwhile clients, servers and PostgreSQL are killed. All note in a Ledger what they
// asked and what they were answered. At the end a census counts what the keys still
// hold, and Ledger.Judge says which promises were broken.
package handover
