package mismatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// writing is how a handler writes the id of a charge: to the first caller, which is also what it stores, and to later ones.
type writing struct {
	first  func(id int64) []byte
	replay func(stored) ([]byte, error)
}

// stored is what became of an answer in a jsonb column.
type stored struct {
	response []byte // as the server writes it
	id       string // response ->> 'chargeId'
}

func asString(id int64) []byte { return fmt.Appendf(nil, `{"chargeId":"%d"}`, id) }

// decoded is what a handler sends that unmarshals the column and marshals it again: numbers become float64.
func decoded(s stored) ([]byte, error) {
	var response any
	if err := json.Unmarshal(s.response, &response); err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// extracted is what a handler sends that lets SQL take the id out: ->> makes text of it.
func extracted(s stored) ([]byte, error) {
	return json.Marshal(map[string]any{"chargeId": s.id})
}

// column is the column as the server writes it, which is not as it was sent to it.
func column(s stored) ([]byte, error) { return s.response, nil }

// sameValue reports whether a client that compares types and digits takes two answers for the same.
func sameValue(a, b []byte) (bool, error) {
	var x, y any
	if err := exactly(a, &x); err != nil {
		return false, err
	}
	if err := exactly(b, &y); err != nil {
		return false, err
	}
	return reflect.DeepEqual(x, y), nil
}

// exactly decodes JSON, and keeps the digits of its numbers.
func exactly(body []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(to)
}
