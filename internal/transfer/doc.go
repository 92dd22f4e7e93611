// Package transfer moves entries between caches, files and Redis servers.
//
//   - [Export] writes a cache as lines of JSON, and [ImportLines] reads them.
//   - [Import] copies the databases of a running Redis server by SCAN. What it has done is kept
//     in a file, so that it goes on where it was interrupted, even by kill -9.
//   - [Verify] compares a Redis server with the caches that it was copied to, key by key, and
//     repairs the differences.
//   - [Compare] tells what clients ask of a Redis server that Howdah lacks.
package transfer
