package howdah

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Options and CacheConfig are copied field by field into those of package core.
// None is left out on the way.
func TestEveryFieldIsCarried(t *testing.T) {
	t.Parallel()
	options := &Options{Logger: slog.New(slog.DiscardHandler), Tracer: struct{ Tracer }{}}
	fill(reflect.ValueOf(options).Elem())
	config := new(CacheConfig)
	fill(reflect.ValueOf(config).Elem())
	for _, pair := range [][2]any{{*options, options.core()}, {*config, config.core()}} {
		face, core := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		require.Equal(t, face.NumField(), core.NumField(), face.Type())
		for i := range face.NumField() {
			field := face.Type().Field(i)
			carried := core.FieldByName(field.Name)
			require.True(t, carried.IsValid(), field.Name)
			if field.Name == "Tracer" { // the rooms below know it by types of their own
				require.Equal(t, tracer{options.Tracer}, carried.Interface())
				continue
			}
			require.Equal(t, face.Field(i).Convert(carried.Type()).Interface(), carried.Interface(), field.Name)
			require.False(t, carried.IsZero(), field.Name)
		}
	}
}

// fill gives every field that is zero a value.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Struct:
			fill(f)
		}
	}
}
