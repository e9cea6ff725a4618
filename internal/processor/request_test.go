package processor_test

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/internal/processor"
)

func TestWrongRequestsAreRefusedBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	for what, text := range map[string]string{
		"no body":              ``,
		"no JSON":              `amount=1`,
		"no object":            `[1]`,
		"two documents":        body + body,
		"rest":                 body + ` x`,
		"unknown member":       `{"amount_cents":1,"card":"4242","tip":1}`,
		"no amount":            `{"card":"4242"}`,
		"amount of nothing":    `{"amount_cents":0,"card":"4242"}`,
		"amount below nothing": `{"amount_cents":-1,"card":"4242"}`,
		"amount with a point":  `{"amount_cents":1.5,"card":"4242"}`,
		"amount beyond":        `{"amount_cents":9223372036854775808,"card":"4242"}`,
		"no card":              `{"amount_cents":1}`,
		"charge of a charge":   `{"amount_cents":1,"card":"4242","charge":"ch_1"}`,
		"NUL":                  `{"amount_cents":1,"card":"4242","reference":"a\u0000b"}`,
		"long reference":       `{"amount_cents":1,"card":"4242","reference":"` + strings.Repeat("x", 256) + `"}`,
		"endless":              `{"amount_cents":1,"card":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		response, answer := b.raw("POST", "/v1/charges", text)
		if response.StatusCode != 400 || !strings.HasPrefix(answer, `{"error":"bad_request","message":"`) {
			t.Errorf("%s: %s %s", what, response.Status, answer)
		}
	}
	if response, answer := b.raw("POST", "/v1/refunds", `{"amount_cents":1}`); response.StatusCode != 400 {
		t.Errorf("a refund of nothing: %s %s", response.Status, answer)
	}
	for what, header := range map[string][]string{
		"two keys":  {"Idempotency-Key", "a", "Idempotency-Key", "b"},
		"empty key": {"Idempotency-Key", ""},
		"long key":  {"Idempotency-Key", strings.Repeat("k", 256)},
		"space":     {"Idempotency-Key", "a b"},
		"umlaut":    {"Idempotency-Key", "ü"},
	} {
		if response, answer := b.raw("POST", "/v1/charges", body, header...); response.StatusCode != 400 {
			t.Errorf("%s: %s %s", what, response.Status, answer)
		}
	}
	b.wantCharges(0, 0)
	if _, err := b.Charge(ctx, strings.Repeat("k", 255), payment); err != nil {
		t.Errorf("a key of 255 bytes: %v", err)
	}
}

func TestUnknownPlacesAreNoAnswersToQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	for _, place := range []string{"GET /v1/payments", "GET /v1/charges/", "DELETE /v1/charges", "GET /v1/charges", "GET /v1/charges?key=a%00b"} {
		method, path, _ := strings.Cut(place, " ")
		response, answer := b.raw(method, path, "")
		if response.StatusCode < 400 || strings.Contains(answer, `"nothing"`) {
			t.Errorf("%s: %s %s", place, response.Status, answer)
		}
	}
	elsewhere := processor.Client{URL: b.URL + "/elsewhere", HTTP: b.HTTP}
	if _, err := elsewhere.FindCharge(ctx, "k-1"); err == nil || strings.Contains(err.Error(), "nothing") {
		t.Errorf("a server that is no processor says %v", err)
	}
	if _, err := (processor.Client{}).FindCharge(ctx, "k-1"); err == nil {
		t.Error("a client without URL asks somebody")
	}
}
