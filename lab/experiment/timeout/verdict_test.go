package timeout

import "testing"

func TestVerdicts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := &Timeout{Payments: 4}
	r := few.result()
	if err := few.verdicts(t.Context(), b.stage, r); err != nil {
		t.Fatal(err)
	}
	for claim, want := range map[string]VerdictRow{
		"ADeclineThatIsNotStoredBecomesACharge":    {Design: storesSuccesses, Payments: 4, ChargedAfterDecline: 4, GotThrough: 4},
		"A503ThatIsStoredStaysForever":             {Design: storesAll, Payments: 4, DeclinedAgain: 4, Stuck: 4},
		"ADeclineIsReplayedAndA503GivesTheKeyBack": {Design: storesOutcomes, Payments: 4, DeclinedAgain: 4, GotThrough: 4},
	} {
		t.Run(claim, func(t *testing.T) {
			if got := r.verdict(want.Design); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	wantAll(t, r.verdictFindings())
	b.wantShown(t, 1)
}
