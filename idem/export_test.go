package idem

// Queued is how many callers of key wait in the memory of s.
func Queued(s *Store, key Key) int {
	room := &s.common().room
	room.mu.Lock()
	defer room.mu.Unlock()
	k := key.scoped(s.Policy.Scope)
	if q := room.queues[roomKey{tenant: k.Tenant, endpoint: k.Endpoint, id: k.ID}]; q != nil {
		return len(q.waiting)
	}
	return 0
}
