package core

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// LPush adds elements at the beginning of a list, one after the other, and returns
// its length.
func (c *Cache) LPush(ctx context.Context, key []byte, elements [][]byte, ttl time.Duration) (int, error) {
	return c.push(ctx, key, elements, ttl, true)
}

// RPush adds elements at the end of a list and returns its length.
func (c *Cache) RPush(ctx context.Context, key []byte, elements [][]byte, ttl time.Duration) (int, error) {
	return c.push(ctx, key, elements, ttl, false)
}

func (c *Cache) push(ctx context.Context, key []byte, elements [][]byte, ttl time.Duration, left bool) (int, error) {
	return add(ctx, c, key, sizeOf(elements), ttl, func(l *values.List, o *occasion) (int, bool, error) {
		o.nameIf(left, "lpush")
		o.nameIf(!left, "rpush")
		for _, element := range elements {
			l.Push(string(element), left)
		}
		return l.Len(), len(elements) > 0, nil
	})
}

// LPop removes the first element of a list and returns it. Error: ErrMiss.
func (c *Cache) LPop(ctx context.Context, key []byte) ([]byte, error) { return c.pop(ctx, key, true) }

// RPop removes the last element of a list and returns it. Error: ErrMiss.
func (c *Cache) RPop(ctx context.Context, key []byte) ([]byte, error) { return c.pop(ctx, key, false) }

func (c *Cache) pop(ctx context.Context, key []byte, left bool) ([]byte, error) {
	return remove(ctx, c, key, 0, func(l *values.List, o *occasion) ([]byte, bool, error) {
		o.nameIf(left, "lpop")
		o.nameIf(!left, "rpop")
		if l.Len() == 0 {
			return nil, false, fault.ErrMiss
		}
		return []byte(l.Pop(left)), true, nil
	})
}

// LRange returns elements of a list by their positions.
func (c *Cache) LRange(ctx context.Context, key []byte, start, stop int64) ([][]byte, error) {
	l, err := read[values.List](ctx, c, key)
	if err != nil {
		return nil, err
	}
	elements := make([][]byte, 0)
	for _, element := range l.Range(start, stop) {
		elements = append(elements, []byte(element))
	}
	return elements, nil
}

// LTrim removes all elements of a list but those that LRange returns.
func (c *Cache) LTrim(ctx context.Context, key []byte, start, stop int64) error {
	_, err := remove(ctx, c, key, 0, func(l *values.List, o *occasion) (struct{}, bool, error) {
		o.name("ltrim")
		return struct{}{}, l.Trim(start, stop), nil
	})
	return err
}

// LLen returns how many elements a list has.
func (c *Cache) LLen(ctx context.Context, key []byte) (int, error) {
	l, err := read[values.List](ctx, c, key)
	return l.Len(), err
}
