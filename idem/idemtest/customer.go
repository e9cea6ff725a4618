package idemtest

// customer is a key, and what those got who sent it.
type customer struct {
	key      string
	original *original
	copies   []answer // to what was sent together
	retries  []answer // to what was sent afterwards, one by one
	by       map[kind][]answer
}

// sort puts the answers by their kinds; status is a first answer's.
func (c *customer) sort(status int) {
	c.by = map[kind][]answer{}
	for _, answers := range [][]answer{c.copies, c.retries} {
		for _, a := range answers {
			k := a.kindOf(status)
			c.by[k] = append(c.by[k], a)
		}
	}
}
