// Package contract is the test that the three programs share: what idempotency keys promise holds behind each framework, over
// real HTTP, on a real database.
package contract

import (
	"net/http"
	"testing"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
)

// Patterns are how a framework spells the program's routes, by path.
type Patterns struct{ Items, Charges string }

// Test runs the contract against the routes of a program.
func Test(t *testing.T, routes func(*shop.Shop) http.Handler, patterns Patterns) {
	d := open(t, routes)
	for _, m := range []mode{
		{name: "atomic", pattern: patterns.Items, path: "items", effects: (*bundle).items},
		{name: "lease", pattern: patterns.Charges, path: "charges", effects: (*bundle).charges},
	} {
		t.Run(m.name, func(t *testing.T) {
			for name, claim := range map[string]func(*bundle){
				"ReplayIsTheFirstAnswerMarked":         replay,
				"OtherBodyIsRefused":                   otherBody,
				"MissingAndMalformedKeysAreRefused":    badKeys,
				"DuplicateOfARunningRequestIsSentAway": running,
				"PathParametersTellRequestsApart":      pathParameters,
				"TenantsDoNotMeet":                     tenants,
				"AuthenticationStandsInFront":          authentication,
				"PanicIsAnsweredByTheFramework":        panics,
				"FailureIsAnsweredByTheFramework":      fails,
				"RefusalIsRecorded":                    refuses,
				"BodyIsWholeForTheBinder":              body,
				"EndpointIsTheRoutesPattern":           endpoint,
			} {
				t.Run(name, func(t *testing.T) { claim(d.in(t, m)) })
			}
		})
	}
	t.Run("SafeMethodsPass", func(t *testing.T) { safe(d.in(t, mode{path: "items"})) })
}
