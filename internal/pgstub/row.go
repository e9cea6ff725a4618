package pgstub

import "encoding/binary"

// Values as the server sends them: text as text, all else binary.
var (
	tenSettings = [][]byte{[]byte("0"), []byte("0"), []byte("0"), []byte("on"), []byte("1000"), []byte("0"), []byte("off"), []byte("100ms"), []byte("on"), []byte("0")}

	no          = []byte{0}
	fence       = binary.BigEndian.AppendUint64(nil, 1_767_225_600_000_000)
	first       = binary.BigEndian.AppendUint32(nil, 1)
	created     = binary.BigEndian.AppendUint32(nil, 201)
	completedAt = binary.BigEndian.AppendUint64(nil, 820_454_400_000_000) // microseconds since 2000
	none        = make([]byte, 16)                                        // interval: microseconds, days, months
	minute      = append(binary.BigEndian.AppendUint64(nil, 60_000_000), 0, 0, 0, 0, 0, 0, 0, 0)
	rival       = []byte("another claim_id")
	header      = []byte("Content-Type: application/json\r\n")
	inFlight    = []byte("in_flight")
	committed   = []byte("committed")
)

// claim is what the session's last KeyClaim brought.
type claim struct {
	id, leased, fingerprint []byte
}

// claimed is KeyClaim's row: none where every key has its answer.
func (s *session) claimed() [][]byte {
	if s.stub.Body != nil {
		return nil
	}
	return s.values(fence, first, s.claim.fingerprint)
}

// loaded is KeyLoad's row: the claim of this session, or the answer that every key has.
func (s *session) loaded() [][]byte {
	c := s.claim
	if s.stub.Body == nil {
		return s.values(inFlight, c.leased, fence, c.id, first, c.fingerprint, nil, nil, nil, nil, nil, none, minute, minute)
	}
	return s.values(committed, no, fence, rival, first, c.fingerprint, created, header, s.stub.Body, nil, completedAt, minute, none, minute)
}
