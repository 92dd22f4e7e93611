package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A file of results has one line for each setting, point, ratio and verdict.
// The values of a line stand in an array, without names, so that a result of
// a hundred points is read in one look and a new one is a short diff.

// MarshalJSON writes [name, value].
func (s Setting) MarshalJSON() ([]byte, error) { return compact(s.Name, s.Value) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Setting) UnmarshalJSON(text []byte) error { return fields(text, &s.Name, &s.Value) }

// MarshalJSON writes [name, unit, round, round ...], five digits each: the
// rest is noise.
func (m Metric) MarshalJSON() ([]byte, error) {
	line := []any{m.Name, m.Unit}
	for _, v := range m.Rounds {
		line = append(line, short(v))
	}
	return compact(line...)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Metric) UnmarshalJSON(text []byte) error {
	rest, err := leading(text, &m.Name, &m.Unit)
	m.Rounds = make([]float64, len(rest))
	for i := range rest {
		if err == nil {
			err = json.Unmarshal(rest[i], &m.Rounds[i])
		}
	}
	return err
}

// MarshalJSON writes [group, case, series, metric, metric ...].
func (p Point) MarshalJSON() ([]byte, error) {
	line := []any{p.Group, p.Case, p.Series}
	for _, m := range p.Metrics {
		line = append(line, m)
	}
	return compact(line...)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Point) UnmarshalJSON(text []byte) error {
	rest, err := leading(text, &p.Group, &p.Case, &p.Series)
	p.Metrics = make([]Metric, len(rest))
	for i := range rest {
		if err == nil {
			err = json.Unmarshal(rest[i], &p.Metrics[i])
		}
	}
	return err
}

// MarshalJSON writes [group, case, of, to, target, at most, rounds].
func (r Ratio) MarshalJSON() ([]byte, error) {
	rounds := []json.Number{}
	for _, v := range r.Rounds {
		rounds = append(rounds, short(v))
	}
	return compact(r.Group, r.Case, r.Of, r.To, r.Target, r.AtMost, rounds)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ratio) UnmarshalJSON(text []byte) error {
	return fields(text, &r.Group, &r.Case, &r.Of, &r.To, &r.Target, &r.AtMost, &r.Rounds)
}

// short is a number with five digits that mean something, without an exponent.
func short(v float64) json.Number {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		rounded = v // not a number: json says so
	}
	return json.Number(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// compact writes an array on one line. HTML is not escaped: "<" is readable.
func compact(values ...any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(values)
	return bytes.TrimSpace(b.Bytes()), err
}

// leading reads the first values of an array and returns the others.
func leading(text []byte, into ...any) ([]json.RawMessage, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all) < len(into) {
		return nil, fmt.Errorf("%s has %d values, not at least %d", text, len(all), len(into))
	}
	for i, field := range into {
		if err := json.Unmarshal(all[i], field); err != nil {
			return nil, err
		}
	}
	return all[len(into):], nil
}

// fields reads an array of as many values as there are fields.
func fields(text []byte, into ...any) error {
	rest, err := leading(text, into...)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s has %d values too many", text, len(rest))
	}
	return err
}

// encode writes a result: a line for each field, and for each element of a
// list. Ratios without a target are left out: the points hold them.
func encode(r Result) ([]byte, error) {
	var goals []Ratio
	for _, x := range r.Ratios {
		if x.Target != 0 {
			goals = append(goals, x)
		}
	}
	r.Ratios = goals
	var b bytes.Buffer
	separator := "{"
	all := reflect.ValueOf(r)
	for i := range all.NumField() {
		name, option, _ := strings.Cut(all.Type().Field(i).Tag.Get("json"), ",")
		field := all.Field(i)
		if option == "omitempty" && field.IsZero() {
			continue
		}
		fmt.Fprintf(&b, "%s\n%q: ", separator, name)
		separator = ","
		if err := encodeField(&b, field); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

func encodeField(b *bytes.Buffer, field reflect.Value) error {
	if field.Kind() != reflect.Slice {
		return encodeValue(b, field.Interface())
	}
	b.WriteString("[")
	for i := range field.Len() {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n ")
		if err := encodeValue(b, field.Index(i).Interface()); err != nil {
			return err
		}
	}
	b.WriteString("\n]")
	return nil
}

func encodeValue(b *bytes.Buffer, value any) error {
	text, err := compact(value)
	if err == nil {
		b.Write(text[1 : len(text)-1]) // without the brackets of the array
	}
	return err
}
