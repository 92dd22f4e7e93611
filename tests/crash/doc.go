// Package crash judges what is left when a PostgreSQL server stops, is killed, hangs,
// fails over or has standbys: no acknowledged write that its durability class promises
// to keep is lost, callers get an error within their deadline, service resumes by itself.
package crash
