package doctor

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/howdah/howdah/schema"
)

// parameter finds the storage parameters in the text of the function that
// makes tables.
var parameter = regexp.MustCompile(`(?m)^\s+((?:toast\.)?[a-z_]+) = (\S+?),?$`)

// storage holds the storage parameters that howdah.create_cache gives to a
// table, in the order of the function that does it.
func storage(fillfactor int) [][2]string {
	for _, f := range schema.Functions() {
		if f.Name == "_create_table" {
			_, with, _ := strings.Cut(f.SQL, ") WITH (")
			with, _, _ = strings.Cut(with, "$sql$")
			return parameters(with, fillfactor)
		}
	}
	return nil
}

// sessionStorage holds those of howdah.session, by the migration that makes it.
func sessionStorage() [][2]string {
	for _, m := range schema.Migrations() {
		if _, table, ok := strings.Cut(m.SQL, "CREATE TABLE howdah.session ("); ok {
			_, with, _ := strings.Cut(table, ") WITH (")
			with, _, _ = strings.Cut(with, ");")
			return parameters(with, 0)
		}
	}
	return nil
}

func parameters(with string, fillfactor int) (all [][2]string) {
	for _, m := range parameter.FindAllStringSubmatch(with, -1) {
		value := m[2]
		if strings.HasPrefix(value, "%") {
			value = strconv.Itoa(fillfactor)
		}
		all = append(all, [2]string{m[1], value})
	}
	return all
}

// storage holds the storage parameters that the table should have. Of the
// sessions a lower fillfactor is the owner's own choice: no function sets it.
func (t *table) storage() [][2]string {
	if t.cache != nil {
		return storage(t.cache.Fillfactor)
	}
	all := sessionStorage()
	for i, p := range all {
		if most, _ := strconv.Atoi(p[1]); p[0] == "fillfactor" && t.fillfactor() < most {
			all[i][1] = strconv.Itoa(t.fillfactor())
		}
	}
	return all
}

// option is the value of a storage parameter, "" if it is not set.
func (t *relation) option(name string) string {
	options := t.Options
	if toast, ok := strings.CutPrefix(name, "toast."); ok {
		options, name = t.ToastOptions, toast
	}
	for _, o := range options {
		if value, ok := strings.CutPrefix(o, name+"="); ok {
			return value
		}
	}
	return ""
}

// sameValue compares two spellings of the value of a storage parameter.
func sameValue(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 == nil && err2 == nil {
		return x == y
	}
	return boolean(a) == boolean(b)
}

func boolean(s string) string {
	switch s = strings.ToLower(s); s {
	case "off", "no", "false", "0":
		return "off"
	case "on", "yes", "true", "1":
		return "on"
	}
	return s
}
