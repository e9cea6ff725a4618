package idemhttp

import (
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/idem"
)

// Revisions are the Fingerprinters that a route has had, oldest first; the last one is in force. A retry that began under an
// older one is compared by that one, so that a change of the rule turns no running retry into 422:
//
//	Fingerprint: idemhttp.Revisions{
//		idemhttp.RequestFingerprint,     // until May
//		idemhttp.Omit("sent_at"),        // since then
//	}.Fingerprint,
//
// Places count: append, and put nil where a rule has been out of force for longer than Retention. There are 16 places. A rule's
// own version is the low half of the byte that stands first in a stored fingerprint, its place the high half.
type Revisions []Fingerprinter

// Fingerprint is the Fingerprinter of them all.
func (v Revisions) Fingerprint(r *http.Request, body []byte, version byte) (idem.Fingerprint, error) {
	place, own := int(version>>4), version&0xf
	if version == 0 {
		place = len(v) - 1
	}
	if place < 0 || place > 0xf || place >= len(v) || v[place] == nil || version != 0 && own == 0 {
		return "", fmt.Errorf("idemhttp: fingerprint version %d: there is no revision %d of the rule", version, place+1)
	}
	f, err := v[place](r, body, own)
	if err != nil || f == idem.AnyRequest {
		return f, err
	}
	if f.Version() < 1 || f.Version() > 0xf {
		return "", fmt.Errorf("idemhttp: a rule under Revisions has version %d, not 1 to 15", f.Version())
	}
	return idem.Fingerprint([]byte{byte(place)<<4 | f.Version()}) + f[1:], nil
}
