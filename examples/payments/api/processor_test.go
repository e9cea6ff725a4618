package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// said is an answer of a pretended processor.
type said struct {
	status int
	body   string
}

// What the processor says decides what becomes of the key: recorded only what is definitive, given back only where nothing can
// have happened, and unknown in every other case.
func TestProcessorsAnswerDecidesAboutTheKey(t *testing.T) {
	cases := map[string]struct {
		charge, asked said
		status        int
		key           string
	}{
		"charged":                   {said{201, `{"id":"ch_1","amount_cents":4900,"status":"succeeded"}`}, said{}, 201, "committed"},
		"declined":                  {said{402, `{"id":"ch_2","amount_cents":4900,"status":"declined"}`}, said{}, 402, "failed"},
		"bad request":               {said{400, `{"error":"bad_request","message":"no such card"}`}, said{}, 422, "failed"},
		"unavailable":               {said{503, `{"error":"unavailable"}`}, said{}, 503, "released"},
		"repeat, shown":             {said{409, `{"error":"duplicate_key","id":"ch_3"}`}, said{200, `{"id":"ch_3","amount_cents":4900,"status":"succeeded"}`}, 201, "committed"},
		"repeat, shown as declined": {said{409, `{"error":"duplicate_key","id":"ch_4"}`}, said{200, `{"id":"ch_4","amount_cents":4900,"status":"declined"}`}, 402, "failed"},
		"repeat, not shown now":     {said{409, `{"error":"duplicate_key","id":"ch_5"}`}, said{503, `{"error":"unavailable"}`}, 502, "in_flight"},
		"repeat, not shown at all":  {said{409, `{"error":"duplicate_key","id":"ch_6"}`}, said{404, `{"error":"nothing"}`}, 502, "in_flight"},
		"repeat, asked wrongly":     {said{409, `{"error":"duplicate_key"}`}, said{400, `{"error":"bad_request"}`}, 502, "in_flight"},
		"still running":             {said{409, `{"error":"in_progress"}`}, said{}, 502, "in_flight"},
		"key of another request":    {said{422, `{"error":"key_reused"}`}, said{}, 502, "in_flight"},
		"pending":                   {said{202, `{"status":"pending"}`}, said{}, 502, "in_flight"},
		"broken":                    {said{500, `{"error":"processor_failed"}`}, said{}, 502, "in_flight"},
		"a proxy's 503":             {said{503, `<h1>Service Unavailable</h1>`}, said{}, 502, "in_flight"},
		"a proxy's 404":             {said{404, `<h1>Not Found</h1>`}, said{}, 502, "in_flight"},
		"half a receipt":            {said{201, `{"id":"ch_7","amount`}, said{}, 502, "in_flight"},
	}
	say := func(w http.ResponseWriter, a said) {
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", func(w http.ResponseWriter, r *http.Request) {
		var in processor.Request
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("the processor is sent %v (%v)", r.Header, err)
		}
		say(w, cases[in.Reference].charge)
	})
	mux.HandleFunc("GET /v1/charges/{id...}", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range cases { // each charge has an id of its own
			if c.asked.status != 0 && r.PathValue("id") == idIn(c.charge.body) {
				say(w, c.asked)
				return
			}
		}
		t.Errorf("the processor is asked about %q", r.PathValue("id"))
	})
	pretended := httptest.NewServer(mux)
	t.Cleanup(pretended.Close)
	s := open(t, "--processor="+pretended.URL)
	for name, c := range cases {
		key := idemhttp.NewKey()
		body, err := json.Marshal(chargeRequest{Card: "4242424242424242", AmountCents: 4900, Reference: name})
		if err != nil {
			t.Fatal(err)
		}
		a := s.post(acme, key, "/charges", string(body))
		if got := s.status(key); a.status != c.status || got != c.key {
			t.Errorf("%s: %d %s, the key is %q; want %d, %q", name, a.status, a.body, got, c.status, c.key)
		}
	}
	if n := s.count("SELECT count(*) FROM shop.charges"); n != 2 {
		t.Errorf("the books have %d charges, want those two that are known to be made", n)
	}
}

// idIn is the id in an answer.
func idIn(body string) string {
	var e processor.Error
	_ = json.Unmarshal([]byte(body), &e) // an answer without one
	return e.ID
}
