package mismatch

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

// ran is one experiment, which every test reads.
var ran = sync.OnceValues(func() (*Result, error) {
	result, err := (&Mismatch{Callers: 3}).Run(context.Background(), &workbench.Bench{})
	if err != nil {
		return nil, err
	}
	return result.(*Result), nil
})

func mismatch(t *testing.T) *Result {
	t.Helper()
	result, err := ran()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestWithoutAFingerprintTheAnswerIsAnotherRequests(t *testing.T) {
	for scene, want := range map[string]Exchange{
		larger:    {Asked: "charge", AskedCents: 9_000_00, NamedCents: 49_00, ChargedCents: 49_00},
		smaller:   {Asked: "charge", AskedCents: 49_00, NamedCents: 9_000_00, ChargedCents: 9_000_00},
		elsewhere: {Asked: "refund", AskedCents: 49_00, NamedCents: 49_00, ChargedCents: 49_00},
	} {
		want.Scene, want.Design, want.Status, want.Replayed, want.Named = scene, noFingerprint, 200, true, "charge"
		if got := mismatch(t).exchange(scene, noFingerprint); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestFingerprintOfTheBodyForgetsTheEndpoint(t *testing.T) {
	if e := mismatch(t).exchange(larger, fingerBody); e.Status != 422 || e.ChargedCents != 49_00 {
		t.Errorf("another amount: %+v", e)
	}
	if e := mismatch(t).exchange(elsewhere, fingerBody); e.Status != 200 || e.Named != "charge" || e.RefundedCents != 0 {
		t.Errorf("another endpoint: %+v", e)
	}
}

func TestAnotherRequestIs422(t *testing.T) {
	for _, design := range []string{fingerBoth, storeDo, handlerTx, tenantScope} {
		for scene, first := range map[string]int64{larger: 49_00, smaller: 9_000_00} {
			e := mismatch(t).exchange(scene, design)
			if e.Status != 422 || e.Named != "" || e.ChargedCents != first || e.RefundedCents != 0 {
				t.Errorf("%s: %+v; want 422, and %d cents charged", design, e, first)
			}
		}
	}
}

func TestRefundUnderAChargesKeyIsARefundOr422(t *testing.T) {
	for design, status := range map[string]int{fingerBoth: 422, storeDo: 200, handlerTx: 200, tenantScope: 422} {
		e := mismatch(t).exchange(elsewhere, design)
		refunded, named := int64(0), ""
		if status == 200 {
			refunded, named = 49_00, "refund"
		}
		if e.Status != status || e.Named != named || e.RefundedCents != refunded || e.ChargedCents != 49_00 || e.Replayed {
			t.Errorf("%s: %+v; want %d", design, e, status)
		}
	}
}

func TestJSONInAnotherOrderIsTheSameRequest(t *testing.T) {
	for design, status := range map[string]int{
		noFingerprint: 200, fingerBody: 422, fingerBoth: 422, storeDo: 200, handlerTx: 200, tenantScope: 200,
	} {
		e := mismatch(t).exchange(rewritten, design)
		if e.Status != status || e.ChargedCents != 49_00 || e.Replayed != (status == 200) {
			t.Errorf("%s: %+v; want %d and one charge", design, e, status)
		}
	}
}

func TestIDTurnsFromNumberToString(t *testing.T) {
	const long = "9007199254740993"
	for _, c := range []struct {
		writer               string
		id                   int64
		first, later         string
		sameBytes, sameValue bool
	}{
		{stringTwice, 1, `{"chargeId":"1"}`, `{"chargeId":"1"}`, true, true},
		{numberString, 1, `{"chargeId":1}`, `{"chargeId":"1"}`, false, false},
		{throughFloat, 1, `{"chargeId":1}`, `{"chargeId":1}`, true, true},
		{rawColumn, 1, `{"chargeId":1}`, `{"chargeId": 1}`, false, true},
		{stringTwice, 1<<53 + 1, `{"chargeId":"` + long + `"}`, `{"chargeId":"` + long + `"}`, true, true},
		{throughFloat, 1<<53 + 1, `{"chargeId":` + long + `}`, `{"chargeId":9007199254740992}`, false, false},
		{rawColumn, 1<<53 + 1, `{"chargeId":` + long + `}`, `{"chargeId": ` + long + `}`, false, true},
		{storeDo, 1, `{"chargeId":1}`, `{"chargeId":1}`, true, true},
		{storeDo, 1<<53 + 1, `{"chargeId":` + long + `}`, `{"chargeId":` + long + `}`, true, true},
		{handlerTx, 1, `{"chargeId":1}`, `{"chargeId":1}`, true, true},
		{handlerTx, 1<<53 + 1, `{"chargeId":` + long + `}`, `{"chargeId":` + long + `}`, true, true},
	} {
		got := mismatch(t).receipt(c.writer, c.id)
		got.Ours = false
		want := Receipt{
			Writer: c.writer, ID: c.id, First: c.first, Later: c.later,
			Replays: 2, SameBytes: c.sameBytes, SameValue: c.sameValue,
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestMismatchShowsWhatItIsFor(t *testing.T) {
	for _, f := range mismatch(t).Section().Failed() {
		t.Errorf("%s: %s Measured: %s", f.Source, f.Claim, f.Measured)
	}
}

func TestSizesThatMakeNoMismatch(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	if err := (&Mismatch{Callers: 1}).Check(); err == nil || !strings.HasPrefix(err.Error(), "--callers is 1;") {
		t.Errorf("error %v", err)
	}
}
