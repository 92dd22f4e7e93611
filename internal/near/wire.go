package near

// ID returns the number that Memory.Cache was given.
func (c *Cache) ID() int32 { return 0 }

// ParkAll is Park for a write of keys that are not known.
func (c *Cache) ParkAll() *Parking { return &Parking{} }
