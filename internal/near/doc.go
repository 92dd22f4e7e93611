// Package near holds entries of caches in the memory of a process, and serves
// them with a stated bound of staleness.
package near
