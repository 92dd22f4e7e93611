// Package console serves Howdah's pages for people: what the caches hold, how they
// do, and what to change. docs/console.md describes the pages.
//
// Every page is a full HTML document that html/template writes and that works
// without JavaScript. The script of our own only repeats requests, and adds keys.
// All links are relative, so a proxy may serve the console below any path.
//
// A request passes, in this order: headers of the answer (security.go), the table
// of routes (routes.go), the proof that a change comes from a page of the console
// (form.go), the rights of the visitor (rights.go), and the page.
package console
