package idem

import "fmt"

// FingerprintJSONAt is FingerprintJSON at a version. (To be moved into fingerprint.go with its contract.)
func FingerprintJSONAt(version byte, doc []byte, parts ...[]byte) (Fingerprint, error) {
	if version != fingerprintVersion {
		return "", fmt.Errorf("idem: fingerprint version %d is unknown; this build knows version %d", version, fingerprintVersion)
	}
	return FingerprintJSON(doc, parts...), nil
}
