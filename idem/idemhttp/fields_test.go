package idemhttp_test

import (
	"net/http"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

func TestOmittedMembersDoNotCount(t *testing.T) {
	rule := idemhttp.Omit("sent_at", "meta.try", "a.b.c")
	oneRequest(t, rule, samples("application/json",
		`{"amount":1,"sent_at":"10:00","meta":{"try":1,"k":"v"},"a":{"b":{"c":0}}}`,
		`{"amount":1,"sent_at":"10:01","meta":{"try":2,"k":"v"},"a":{"b":{"c":{"d":[1]}}}}`,
		`{"amount":1,"meta":{"k":"v"},"a":{"b":{}}}`,
		` {"meta" : {"k":"\u0076", "try":{"sent_at":1}}, "a":{"b":{"\u0063":0}}, "sent\u005fat":null, "amount":1 } `,
	)...)
	differentRequests(t, rule, samples("application/json",
		`{"amount":1,"sent_at":"10:00"}`,
		`{"amount":2,"sent_at":"10:00"}`,
		`{"amount":1.0,"sent_at":"10:00"}`,
		`{"amount":9007199254740992,"sent_at":1}`,
		`{"amount":9007199254740993,"sent_at":1}`,
		`{"amount":1,"Sent_at":"10:00"}`,
		`{"amount":1,"Sent_at":"10:01"}`,
		`{"amount":1,"meta.try":1}`,
		`{"amount":1,"meta.try":2}`,
		`{"amount":1,"meta":{}}`,
		`{"amount":1,"meta":[{"try":1}]}`,
		`{"amount":1,"meta":[{"try":2}]}`,
		`{"amount":1,"meta":"try"}`,
		`{"amount":1,"meta":null}`,
		`{"amount":1,"inner":{"sent_at":1}}`,
		`{"amount":1,"inner":{"sent_at":2}}`,
	)...)
}

func TestOnlyChosenMembersCount(t *testing.T) {
	rule := idemhttp.Only("id", "order.total", "order.customer.id")
	oneRequest(t, rule, samples("application/json",
		`{"id":1,"order":{"total":5,"customer":{"id":"c","name":"Ann"},"note":"x"},"sent_at":1}`,
		`{"sent_at":2, "order":{"customer":{"id":"\u0063","name":"Anne"},"total":5}, "id":1}`,
	)...)
	oneRequest(t, rule, samples("application/json", `{}`, `{"a":1}`, `{"order":1}`, `{"order":{"total2":1}}`, `{"order":[{"total":1}]}`)...)
	differentRequests(t, rule, samples("application/json",
		`{"id":1,"order":{"total":5}}`,
		`{"id":1,"order":{"total":5.0}}`,
		`{"id":2,"order":{"total":5}}`,
		`{"id":1,"order":{"total":6}}`,
		`{"id":1}`,
		`{"id":null}`,
		`{"id":{}}`,
		`{"order":{"total":5}}`,
		`{"order":{"total":{"total":5}}}`,
		`{"order":{"customer":{"id":5}}}`,
		`{}`,
	)...)
}

// A name that both a path and a member could mean means the path, and the two never stand for each other.
func TestPathAndNameWithADotDoNotMeet(t *testing.T) {
	differentRequests(t, idemhttp.Only("a.b"), samples("application/json", `{"a":{"b":1}}`, `{"a.b":1}`)...)
	oneRequest(t, idemhttp.Only("a.b"), samples("application/json", `{"a.b":1}`, `{"a.b":2}`)...)
	oneRequest(t, idemhttp.Omit("a..b", ""), samples("application/json", `{"a":{"":{"b":1}}}`, `{"a":{"":{"b":2}},"":3}`)...)
}

// What cannot be taken apart safely is compared whole.
func TestOtherBodiesAreComparedWhole(t *testing.T) {
	for name, rule := range map[string]idemhttp.Fingerprinter{"omit": idemhttp.Omit("sent_at"), "only": idemhttp.Only("amount")} {
		t.Run(name, func(t *testing.T) {
			whole := []sample{
				jsonSample(`{"amount":1,"sent_at":1,"sent_at":2}`),
				jsonSample(`{"amount":1,"sent_at":2,"sent_at":1}`),
				jsonSample(`{"amount":1,"amount":900,"sent_at":1}`),
				jsonSample(`{"amount":1,"amount":900,"sent_at":2}`),
				jsonSample(`{"amount":1,"amount":900}`),
				jsonSample(`{"amount":1,"sent_at":1} x`),
				jsonSample(`{"amount":1,"sent_at":2} x`),
				jsonSample("{\"amount\":1,\"sent_at\":\"\xff\"}"),
				jsonSample("{\"amount\":1,\"sent_at\":\"\xfe\"}"),
				jsonSample(`[{"amount":1,"sent_at":1}]`),
				jsonSample(`[{"amount":1,"sent_at":2}]`),
				jsonSample(`"sent_at"`),
				jsonSample(`null`),
				jsonSample(``),
				form(`{"amount":1,"sent_at":1}`),
				form(`{"amount":1,"sent_at":2}`),
				{body: `{"amount":1,"sent_at":1}`, header: http.Header{"Content-Encoding": {"gzip"}}},
				{body: `{"amount":1,"sent_at":2}`, header: http.Header{"Content-Encoding": {"gzip"}}},
			}
			differentRequests(t, rule, append(whole, jsonSample(`{"amount":1,"sent_at":1}`))...)
			for _, s := range whole {
				if s.of(t, rule) != s.of(t, idemhttp.RequestFingerprint) {
					t.Errorf("%v is not compared as a whole", s)
				}
			}
		})
	}
	oneRequest(t, idemhttp.Omit("sent_at"), samples("application/json", `[{"a":1,"b":2}]`, ` [ {"b":2,"a":1} ] `)...)
}

// Everything but the body counts as ever.
func TestFieldsDoNotHideTheTarget(t *testing.T) {
	for _, rule := range []idemhttp.Fingerprinter{idemhttp.Omit("a"), idemhttp.Only("a")} {
		differentRequests(t, rule,
			sample{body: `{"a":1}`},
			sample{body: `{"a":1}`, method: "PUT"},
			sample{body: `{"a":1}`, target: "/charges/2"},
			sample{body: `{"a":1}`, target: "/charges?b=2"},
			typed("text/json", `{"a":1}`))
	}
}

// C48: the client changes a volatile field on purpose.
func TestVolatileFieldMayChangeFromTryToTry(t *testing.T) {
	b := setup(t)
	for name, rule := range map[string]idemhttp.Fingerprinter{
		"omit": idemhttp.Omit("sent_at", "meta.try"),
		"only": idemhttp.Only("amount"),
	} {
		for _, mode := range modes {
			t.Run(mode.name+" "+name, func(t *testing.T) {
				b := b.in(t)
				m := *b.m
				m.Fingerprint = rule
				handler := new(bodies)
				server := b.serve(mode.handle(b, &m, handler.serve))
				const sent = `{"amount":4900,"sent_at":"10:00:00","meta":{"try":1}}`
				first := b.send(jsonSample(sent).over(server, mode.name+name, "k"))
				b.wantFirst(first, 201)
				if seen := handler.take(); len(seen) != 1 || seen[0] != sent {
					t.Errorf("the handler read %q, want all that was sent", seen)
				}
				b.wantReplay(b.send(jsonSample(`{"amount":4900,"sent_at":"10:00:05","meta":{"try":2}}`).over(server, mode.name+name, "k")), first)
				b.wantProblem(b.send(jsonSample(`{"amount":900000,"sent_at":"10:00:00","meta":{"try":1}}`).over(server, mode.name+name, "k")), 422, "key-reused")
			})
		}
	}
	if got := b.charges(); got != 4 {
		t.Errorf("%d charges, want 4", got)
	}
}
