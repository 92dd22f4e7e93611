// Package browser tests the console in a real browser: Debian's Chromium, on a real server
// with a real PostgreSQL. It is a module of its own, so that a program that uses Howdah does
// not download what drives Chromium.
package browser
