package failover

import (
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
)

func on(systems ...System) filter {
	return func(l line) bool { return slices.Contains(systems, l.System) }
}
func with(p Processor) filter { return func(l line) bool { return l.Processor == p } }
func ours(l line) bool        { return l.Ours }
func theirs(l line) bool      { return !l.Ours }

// lateIsLost: every claim after the link was parted was confirmed, and is gone.
func lateIsLost(l line) bool {
	return l.Late.Keys > 0 && l.Late.Confirmed == l.Late.Keys && l.Late.Answered == l.Late.Keys && l.Late.Lost == l.Late.Keys
}

// settledStays: what was answered and copied before is there.
func settledStays(l line) bool {
	s := l.Settled
	return s.Keys > 0 && s.Confirmed == s.Keys && s.Answered == s.Keys && s.Lost == 0 && s.Forgotten == 0
}

// nothingIsLost: neither a claim that was confirmed, nor an answer that was given.
func nothingIsLost(l line) bool { return l.All().Lost == 0 && l.All().Forgotten == 0 }

// lateWaits: every commit after the link was parted waited, and nothing came of it.
func lateWaits(l line) bool {
	return l.Waiting > 0 && l.Waiting == l.Late.Keys && l.Late.Confirmed == 0 && l.Late.Answered == 0 && l.Late.Charged == 0
}

// chargedOnce: every payment was charged, and none again.
func chargedOnce(l line) bool {
	return l.All().Keys > 0 && l.All().Duplicates == 0 && l.All().Missing == 0
}

func chargedAgain(l line) bool { return l.All().Duplicates > 0 }

// lostIsChargedAgain: of what came after the link was parted exactly that was charged again which had been charged and lost.
func lostIsChargedAgain(l line) bool {
	return l.Late.ChargedOfLost == l.Late.Keys && l.Late.Duplicates == l.Late.ChargedOfLost
}

// sameAnswer: who had an answer got it again.
func sameAnswer(l line) bool { return l.All().Contradicted == 0 && l.All().Unknown == 0 }

// oneKeyEach: the processor was sent one key for each payment, however often.
func oneKeyEach(l line) bool { return l.KeysSent == l.All().Keys-l.All().Missing }

// repeatsAreRefused: the processor refused as many as had been charged and were asked for again.
func repeatsAreRefused(l line) bool {
	return l.Refused > 0 && l.Refused == l.InHand.Charged+l.Late.ChargedOfLost
}

func inHandIsUnknown(l line) bool { return l.InHand.Unknown > 0 && l.InHand.Unknown == l.InHand.Keys }

// inHandIsChargedAgain: that, and nothing else.
func inHandIsChargedAgain(l line) bool {
	return l.InHand.Duplicates > 0 && l.InHand.Duplicates == l.InHand.Charged && l.All().Duplicates == l.InHand.Duplicates
}

// answeredThenLost: every late customer had an answer, and neither it nor what it was about is there.
func answeredThenLost(l line) bool {
	return lateIsLost(l) && l.Late.Forgotten == l.Late.Answered && l.Late.Charged == 0
}

// number writes a count.
func number(n int) string { return report.Number(n) }

func saysLost(l line) string {
	return fmt.Sprintf("%s of %s confirmed claims lost", number(l.All().Lost), number(l.All().Confirmed))
}

func saysDuplicates(l line) string {
	return fmt.Sprintf("%s of %s payments charged again", number(l.All().Duplicates), number(l.All().Keys))
}

func saysWaiting(l line) string {
	return fmt.Sprintf("of %s late payments %s waited, %s were answered, %s charged", number(l.Late.Keys), number(l.Waiting),
		number(l.Late.Answered), number(l.Late.Charged))
}

func saysLostAgain(l line) string {
	return fmt.Sprintf("%s claims lost whose payment was charged, %s charged again", number(l.Late.ChargedOfLost),
		number(l.Late.Duplicates))
}

func saysAnswers(l line) string {
	return fmt.Sprintf("%s claims lost, %s payments charged again, %s customers got another answer than their first",
		number(l.All().Lost), number(l.All().Duplicates), number(l.All().Contradicted))
}

func saysKeys(l line) string {
	return fmt.Sprintf("%s payments, %s of them charged twice, under %s keys", number(l.All().Keys-l.All().Missing),
		number(l.All().Duplicates), number(l.KeysSent))
}

func saysRefused(l line) string {
	return fmt.Sprintf("%s repeats refused, of %s payments in hand and %s lost ones", number(l.Refused), number(l.InHand.Charged),
		number(l.Late.ChargedOfLost))
}

func saysUnknown(l line) string {
	return fmt.Sprintf("%s payments charged again; %s that were in hand are left to an operator", number(l.All().Duplicates),
		number(l.InHand.Unknown))
}

func saysForgotten(l line) string {
	return fmt.Sprintf("%s orders answered and then gone, %s made twice", number(l.All().Forgotten), number(l.All().Duplicates))
}
