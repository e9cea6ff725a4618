package idemhttp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// Omit is RequestFingerprint without the named members of a JSON body: those that change from one try to the next, such as
// sent_at. A name with dots reaches into objects: "meta.sent_at". Names that are not there are ignored. A body that is not JSON,
// or that receivers may read in more than one way (see idem.FingerprintJSON), is compared whole.
//
// Changing the list changes the fingerprint of requests that are under way: add a revision (Revisions) instead.
func Omit(fields ...string) Fingerprinter {
	return pruned(func(doc object) (object, error) {
		for _, field := range fields {
			if err := doc.remove(strings.Split(field, ".")); err != nil {
				return nil, err
			}
		}
		return doc, nil
	})
}

// Only is RequestFingerprint with nothing of a JSON body but the named members: those that make two requests the same. Names and
// limits are as with Omit. A body that has none of them is compared as {}.
func Only(fields ...string) Fingerprinter {
	return pruned(func(doc object) (object, error) {
		chosen := make(object)
		for _, field := range fields {
			member, ok, err := doc.find(strings.Split(field, "."))
			if err != nil {
				return nil, err
			}
			if ok {
				chosen[field] = member
			}
		}
		return chosen, nil
	})
}

// pruned fingerprints what prune leaves of a JSON object.
func pruned(prune func(object) (object, error)) Fingerprinter {
	return func(r *http.Request, body []byte, version byte) (idem.Fingerprint, error) {
		if !isJSON(r) {
			return fingerprint(r, body, version, false)
		}
		text, ok := canonical.JSON(body)
		if !ok || text[0] != '{' { // a map would fold what FingerprintJSON keeps apart, such as a name that occurs twice
			return fingerprint(r, body, version, true)
		}
		var doc object
		if err := json.Unmarshal(text, &doc); err != nil {
			return "", err
		}
		doc, err := prune(doc)
		if err != nil {
			return "", err
		}
		text, err = json.Marshal(doc)
		if err != nil {
			return "", err
		}
		return fingerprint(r, text, version, true)
	}
}

// object is a JSON object whose members are not taken apart, so that their digits stay as they are.
type object map[string]json.RawMessage

// open is the object at name; nil where there is none.
func (o object) open(name string) (inner object, err error) {
	if member := o[name]; len(member) > 0 && member[0] == '{' {
		err = json.Unmarshal(member, &inner)
	}
	return inner, err
}

func (o object) find(path []string) (json.RawMessage, bool, error) {
	if len(path) == 1 {
		member, ok := o[path[0]]
		return member, ok, nil
	}
	inner, err := o.open(path[0])
	if inner == nil || err != nil {
		return nil, false, err
	}
	return inner.find(path[1:])
}

func (o object) remove(path []string) error {
	if len(path) == 1 {
		delete(o, path[0])
		return nil
	}
	inner, err := o.open(path[0])
	if inner == nil || err != nil {
		return err
	}
	if err := inner.remove(path[1:]); err != nil {
		return err
	}
	o[path[0]], err = json.Marshal(inner)
	return err
}
