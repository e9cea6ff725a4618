package idem

import "fmt"

// downstreamKey derives the key of a step from what never changes for a request: its key as stored, the fingerprint that its life
// began with, and the step's name.
func downstreamKey(stored Key, fingerprint []byte, step string) string {
	digest := fingerprintDigest("pgidem downstream key 1\n", [][]byte{
		[]byte(stored.Tenant), []byte(stored.Endpoint), []byte(stored.ID), fingerprint, []byte(step),
	})
	id := []byte(digest[1:17])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
