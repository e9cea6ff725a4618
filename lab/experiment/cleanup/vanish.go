package cleanup

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
)

// vanishing is a Vanishing that is to be played.
type vanishing struct {
	Vanishing
	swept bool
	build func(b *bench, endpoint string, between func(context.Context, moment) error, told *story) shop
}

// The handlers that lose a claim.
const (
	unguarded = "the article's, unguarded"
	guarded   = "the article's, with its guard"
	doLoses   = "Store.Do"
	holdLoses = "Store.Hold"
)

// losers are the handlers in the order of the table.
var losers = []string{unguarded, guarded, doLoses, holdLoses}

// Who deletes the row.
const (
	byOwner    = "its owner"
	bySweeper  = "a created_at sweeper"
	byOperator = "idem forget"
	bySweep    = "idem sweep"
)

// vanishings are all that is played, in the order of the table.
func vanishings() []vanishing {
	article := func(unguarded bool) func(*bench, string, func(context.Context, moment) error, *story) shop {
		return func(b *bench, _ string, between func(context.Context, moment) error, told *story) shop {
			return &purchase{pool: b.pool, work: receiptIsTaken, unguarded: unguarded, between: between, story: told}
		}
	}
	does := func(b *bench, endpoint string, _ func(context.Context, moment) error, _ *story) shop {
		return atomic{store: b.storeOn(b.gated, patient), endpoint: endpoint, work: receiptIsTaken}
	}
	holds := func(b *bench, endpoint string, _ func(context.Context, moment) error, _ *story) shop {
		return leased{store: b.storeOn(b.gated, patient), endpoint: endpoint, processor: b.processor}
	}
	var all []vanishing
	for _, times := range []int{1, 2, 3} {
		all = append(all, vanishing{Vanishing{Handler: guarded, By: byOwner, Times: times}, false, article(false)})
	}
	all = append(all,
		vanishing{Vanishing{Handler: guarded, By: bySweeper, Times: 1}, true, article(false)},
		vanishing{Vanishing{Handler: unguarded, By: byOwner, Times: 1}, false, article(true)},
		vanishing{Vanishing{Handler: unguarded, By: bySweeper, Times: 1}, true, article(true)},
	)
	for _, swept := range []bool{false, true} {
		by := byOperator
		if swept {
			by = bySweep
		}
		for _, times := range []int{1, 2, 3} {
			all = append(all,
				vanishing{Vanishing{Handler: doLoses, By: by, Times: times}, swept, does},
				vanishing{Vanishing{Handler: holdLoses, By: by, Times: times}, swept, holds},
			)
		}
	}
	slices.SortStableFunc(all, func(v, w vanishing) int {
		return slices.Index(losers, v.Handler) - slices.Index(losers, w.Handler)
	})
	return all
}

//go:embed rival_claims.sql
var rivalClaimsSQL string

// vanish plays one, and sends the request again.
func (b *bench) vanish(ctx context.Context, v vanishing, number int) (Vanishing, error) {
	told := new(story)
	prefix := fmt.Sprintf("vanishing %d, key ", number)
	r := request{key: prefix + "1", try: 2} // the work does not fail
	if err := b.reset(ctx, false); err != nil {
		return v.Vanishing, err
	}
	play := b.rivalOfArticle
	if v.Handler == doLoses || v.Handler == holdLoses {
		play = b.rivalOfProduct
	}
	got, err := play(ctx, v, "POST /vanished/"+strconv.Itoa(number), r, told)
	if err != nil {
		return v.Vanishing, err
	}
	v.Answer, v.Again, v.Looks, v.Steps = got.first.String(), got.again.String(), got.looks, told.steps
	var twice int
	err = b.pool.QueryRow(ctx, countsSQL, prefix).Scan(&v.Charges, &twice)
	return v.Vanishing, err
}

// outcome is what came of a request whose row vanished.
type outcome struct {
	first, again answer
	looks        int
}

// rivalOfArticle claims before the handler's INSERT, and its row is deleted before the handler's SELECT.
func (b *bench) rivalOfArticle(ctx context.Context, v vanishing, _ string, r request, told *story) (o outcome, err error) {
	between := func(ctx context.Context, m moment) (err error) {
		if m == beforeInsert {
			o.looks++
		}
		switch {
		case m == beforeInsert && o.looks <= v.Times:
			_, err = b.pool.Exec(ctx, rivalClaimsSQL, r.key)
			told.say("a rival claims the key", okOr(err))
		case m == beforeSelect:
			err = b.deleteClaim(ctx, v, r.key)
			told.say(v.By+" deletes the claim", okOr(err))
		}
		return err
	}
	o.first = v.build(b, "", between, told).buy(ctx, r)
	o.again = v.build(b, "", nil, nil).buy(ctx, r)
	return o, nil
}

func (b *bench) deleteClaim(ctx context.Context, v vanishing, key string) error {
	if !v.swept {
		_, err := b.pool.Exec(ctx, deleteClaimSQL, key)
		return err
	}
	if _, err := b.pool.Exec(ctx, ageClaimsSQL, lease); err != nil {
		return err
	}
	_, err := b.pool.Exec(ctx, sweepClaimsSQL, sweptAfter)
	return err
}
