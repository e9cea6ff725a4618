package failover

// seen is what was looked at in the course of a failover, by the payment's key: claims, whether they are finished, and charges.
type seen struct {
	before   map[string]bool    // on the primary, right before it was killed
	after    map[string]bool    // on the replica, once it was promoted
	standing map[string]charged // then
	final    map[string]charged // when everybody had come again
}

// count fills in the row's groups, and the keys that were sent.
func (e *entrant) count(s seen) {
	for _, c := range e.customers {
		g, key := c.group, c.payment.Key
		_, confirmed := s.before[key]
		finished, kept := s.after[key]
		lost := confirmed && !kept
		charged := s.standing[key].times > 0

		g.Keys++
		add(&g.Confirmed, confirmed)
		add(&g.Answered, c.charge != 0)
		add(&g.Lost, lost)
		add(&g.Forgotten, c.charge != 0 && !finished)
		add(&g.Charged, charged)
		add(&g.ChargedOfLost, charged && lost)

		final := s.final[key]
		g.Duplicates += max(final.times-1, 0)
		add(&g.Missing, final.times == 0)
		add(&g.Contradicted, c.charge != 0 && c.failed == nil && c.again.ChargeID != c.charge)
		add(&g.Unknown, c.unknown())
		e.row.KeysSent += final.keys
	}
}

func add(n *int, one bool) {
	if one {
		*n++
	}
}
