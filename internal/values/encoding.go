package values

// The limits of Redis's compact encodings, as its settings have them by default.
const (
	compactElements = 128
	compactBytes    = 64
	intsetElements  = 512
	embeddedBytes   = 44
)

// Encoding returns the name that OBJECT ENCODING gives for a value that has just
// been made. Redis does not go back to a compact encoding when a value shrinks;
// here the name always follows the value.
func Encoding(v Value) string {
	switch v := v.(type) {
	case String:
		return v.encoding()
	case *Hash:
		longest := 0
		for name, f := range v.fields.all() {
			longest = max(longest, len(name), len(f.value))
		}
		return compact(v.Len(), longest, "hashtable")
	case *SortedSet:
		longest := 0
		for _, m := range v.members {
			longest = max(longest, len(m.Name))
		}
		return compact(v.Len(), longest, "skiplist")
	case *Set:
		for member := range v.members.all() {
			if _, ok := parseInt(member); !ok {
				return "hashtable"
			}
		}
		if v.Len() <= intsetElements {
			return "intset"
		}
		return "hashtable"
	}
	return "quicklist"
}

func (s String) encoding() string {
	if _, ok := parseInt(s); ok {
		return "int"
	}
	if len(s) <= embeddedBytes {
		return "embstr"
	}
	return "raw"
}

func compact(elements, longest int, otherwise string) string {
	if elements <= compactElements && longest <= compactBytes {
		return "listpack"
	}
	return otherwise
}
