// Package arrows holds the import rules of this module, as a test.
//
// Every folder with Go files is a room on a floor of the house. A room imports
// rooms of lower floors only, never one beside it. house_test.go is the table
// of rooms: a new folder is added there.
package arrows
