package canonical

import (
	"bytes"
	"slices"
	"sort"
)

// member is `"name":value` as it stands in out.
type member struct{ start, nameEnd, end int }

// object is `{…}` as it stands in out, with its members in canonical order.
type object struct {
	start, end int
	members    []member
}

// close ends the object that starts at start and whose members are s.open[first:]. It returns false when two have one name.
func (s *scanner) close(start, first int) bool {
	members := s.open[first:]
	s.open = s.open[:first]
	inOrder := slices.IsSortedFunc(members, s.byName)
	if !inOrder {
		members = slices.Clone(members)
		slices.SortFunc(members, s.byName)
		s.unordered = append(s.unordered, object{start, len(s.out), members})
	}
	for i := 1; i < len(members); i++ {
		if s.byName(members[i-1], members[i]) == 0 {
			return false
		}
	}
	return true
}

// byName compares the canonical spellings of two names.
func (s *scanner) byName(a, b member) int { return bytes.Compare(s.name(a), s.name(b)) }

// name is the canonical spelling of m's name, without the quotes.
func (s *scanner) name(m member) []byte { return s.out[m.start+1 : m.nameEnd-1] }

// ordered returns out with the members of every object in order. Putting each object in order where it closes would copy its
// text once for every level that it is nested in; here each byte is copied once.
func (s *scanner) ordered() []byte {
	if len(s.unordered) == 0 {
		return s.out
	}
	slices.SortFunc(s.unordered, func(a, b object) int { return a.start - b.start })
	return s.appendOrdered(make([]byte, 0, len(s.out)), 0, len(s.out))
}

// appendOrdered appends out[from:to], which holds whole objects only, in order.
func (s *scanner) appendOrdered(dst []byte, from, to int) []byte {
	for {
		next := sort.Search(len(s.unordered), func(i int) bool { return s.unordered[i].start >= from })
		if next == len(s.unordered) || s.unordered[next].start >= to {
			return append(dst, s.out[from:to]...)
		}
		o := s.unordered[next]
		dst = append(dst, s.out[from:o.start]...)
		dst = append(dst, '{')
		for i, m := range o.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.appendOrdered(dst, m.start, m.end)
		}
		dst = append(dst, '}')
		from = o.end
	}
}
