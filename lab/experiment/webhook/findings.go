package webhook

import (
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/lab/report"
)

const article = "article 000"

// findings are what the run says to the article's sentences and to the product's promises.
func (r *Result) findings() []report.Finding {
	var all []report.Finding
	all = append(all, r.keyFindings()...)
	all = append(all, r.pairFindings()...)
	return append(all, r.deathFindings()...)
}

func must(source, claim string, holds bool, measured string, args ...any) report.Finding {
	return report.Finding{Source: source, Claim: claim, Measured: fmt.Sprintf(measured, args...), Holds: holds, Must: true}
}

func (r *Result) keyFindings() []report.Finding {
	looked, claimed := r.key(lookFirst, byPayment, false), r.key(oneTx, byPayment, false)
	byID, ours := r.key(oneTx, byEvent, false), r.key(storeDo, byEvent, false)
	alone, belted := r.key(noLedger, "", true), r.key(oneTx, byEvent, true)
	return []report.Finding{
		must(article, "A ledger keyed by the payment drops legitimate follow-ups.",
			claimed.Dropped > 0 && claimed.Dropped == claimed.Events/2,
			"of %d events, %d were never fulfilled: every %s", claimed.Events, claimed.Dropped, paid),
		must(article, "Or it lets a redelivery fulfil twice.", looked.Repeated > 0,
			"%d events were fulfilled %d times in all, by a ledger that looks first", looked.Once+looked.Repeated, looked.Times),
		must(article, "The event's id is the key: claim it in a ledger row and do the work in one transaction.", byID.isWhole(),
			"%d of %d events were fulfilled once, after %d deliveries", byID.Once, byID.Events, byID.Deliveries+byID.Late),
		must(article, "The ledger spares the shop the work of a common redelivery, which the unique index alone does not.",
			belted.isWhole() && belted.LateWorks == 0 && alone.isWhole() && alone.LateWorks == alone.Late,
			"late deliveries began %d works with a ledger, %d of %d without one", belted.LateWorks, alone.LateWorks, alone.Late),
		must("pgidem", "Store.Do with the event's id as the key fulfils every event once.", ours.isWhole() && ours.LateWorks == 0,
			"%d of %d events were fulfilled once, after %d deliveries", ours.Once, ours.Events, ours.Deliveries+ours.Late),
	}
}

func (r *Result) pairFindings() []report.Finding {
	bare, belted, ours := r.pair(lookFirst, false), r.pair(lookFirst, true), r.pair(storeDo, false)
	return []report.Finding{
		must(article, "A ledger that is only a SELECT does not stand between you and a duplicate.", bare.Repeated > 0,
			"%d of %d events were fulfilled twice, keyed by their id", bare.Repeated, bare.Events),
		must(article, "The unique index on the payment is what holds when two deliveries interleave inside the same millisecond.",
			belted.isWhole() && belted.Started > belted.Events,
			"%d of %d events were fulfilled once, though %d deliveries had found nothing and begun; %d pairs looked within a millisecond",
			belted.Once, belted.Events, belted.Started, belted.WithinMillisecond),
		must("pgidem", "Two deliveries at once begin one work.", ours.isWhole() && ours.Started == ours.Events,
			"%d works for %d events", ours.Started, ours.Events),
	}
}

func (r *Result) deathFindings() []report.Finding {
	var all []report.Finding
	for _, ledger := range []string{staleClaim, oneTx} {
		ok, conflict := r.death(ledger, http.StatusOK), r.death(ledger, http.StatusConflict)
		all = append(all,
			must(article, "Answered 200, then its holder killed: never processed, money in, nothing delivered ("+ledger+").",
				ok.Told.OK > 0 && ok.Dropped == ok.Told.OK && ok.Again == 0,
				"%d of %d events were lost, %s; the provider came back %d times",
				ok.Dropped, ok.Events, report.Dollars(ok.LostCents), ok.Again),
			must(article, "Answered 409, the provider comes back and the event is handled ("+ledger+").",
				conflict.isWhole() && conflict.Told.Conflict == conflict.Events && conflict.Again >= conflict.Events,
				"%d of %d events were fulfilled once, after %d deliveries more", conflict.Once, conflict.Events, conflict.Again))
	}
	for _, ledger := range []string{storeDo, storeHold} {
		ours := r.death(ledger, http.StatusConflict)
		all = append(all, must("pgidem", "An event whose holder is killed is told to come back, and is fulfilled once ("+ledger+").",
			ours.isWhole() && ours.Told.Conflict == ours.Events,
			"%d of %d events were fulfilled once, %d were lost", ours.Once, ours.Events, ours.Dropped))
	}
	return all
}
