package session

// InBatchesOf makes flushes touch at most n sessions in one statement.
func (o Options) InBatchesOf(n int) Options {
	o.batch = n
	return o
}
