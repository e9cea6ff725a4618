package cleanup

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

// The times at which a client comes that has not been told that it has bought. The time between them is moved in the database.
const (
	atFirst       = "first request"
	atOnce        = "retry at once"
	aLeaseLater   = "a lease later"
	aYearLater    = "a year later"
	afterOperator = "after an operator"
)

// What the database is told has passed.
const (
	sweptAfter = 90 * time.Second // by the article's sweeper; the product's lease is as long
	lease      = sweptAfter + time.Second
	year       = 365 * 24 * time.Hour
)

var (
	//go:embed reset.sql
	resetSQL string
	//go:embed check_knows_failed.sql
	checkKnowsFailedSQL string
	//go:embed check_as_in_the_article.sql
	checkAsInTheArticleSQL string
	//go:embed sweep_claims.sql
	sweepClaimsSQL string
	//go:embed age_claims.sql
	ageClaimsSQL string
	//go:embed age_keys.sql
	ageKeysSQL string
	//go:embed counts.sql
	countsSQL string
)

// failing sends keys through a variant, a stage after the other.
func (b *bench) failing(ctx context.Context, v variant, number, keys int, step func()) (Design, error) {
	told := new(story)
	d := Design{Variant: v.Variant, Keys: keys}
	prefix := fmt.Sprintf("design %d, key ", number)
	endpoint := fmt.Sprintf("POST /purchases/%d", number)
	if err := b.reset(ctx, v.knowsFailed); err != nil {
		return d, err
	}
	shop, silent := v.build(b, endpoint, told), v.build(b, endpoint, nil)
	last := make([]answer, keys)
	for try, when := range []string{atFirst, atOnce, aLeaseLater, aYearLater, afterOperator} {
		if err := b.until(ctx, when, v, endpoint, &d); err != nil {
			return d, err
		}
		stage := Stage{When: when, Answers: map[string]int{}}
		for i := range keys {
			if last[i].done() {
				continue
			}
			by := silent
			if i == 0 && try < 2 {
				by = shop
			}
			last[i] = by.buy(ctx, request{key: fmt.Sprint(prefix, i), try: try + 1})
			stage.Answers[last[i].String()]++
			if when == aYearLater && last[i] == outcomeUnknown {
				d.Unknown++
			}
		}
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		if len(stage.Answers) > 0 {
			d.Stages = append(d.Stages, stage)
		}
	}
	for _, a := range last {
		step()
		switch {
		case a.done():
			d.Completed++
		case a == inProgress || a == inFlight:
			d.Dead++
		}
	}
	err := b.pool.QueryRow(ctx, countsSQL, prefix).Scan(&d.Charges, &d.ChargedTwice)
	d.Steps = told.steps
	return d, err
}

// reset empties the ledger and gives it the CHECK of a variant.
func (b *bench) reset(ctx context.Context, knowsFailed bool) error {
	check := checkAsInTheArticleSQL
	if knowsFailed {
		check = checkKnowsFailedSQL
	}
	if _, err := b.pool.Exec(ctx, resetSQL); err != nil {
		return fmt.Errorf("empty the ledger: %w", err)
	}
	_, err := b.pool.Exec(ctx, check)
	return err
}

// until lets the time pass up to a stage, and what happens meanwhile.
func (b *bench) until(ctx context.Context, when string, v variant, endpoint string, d *Design) (err error) {
	var passed time.Duration
	switch when {
	case aLeaseLater:
		passed = lease
	case aYearLater:
		passed = year
	case afterOperator:
		d.Listed, err = b.operate(ctx, endpoint)
		return err
	default:
		return nil
	}
	if _, err := b.pool.Exec(ctx, ageClaimsSQL, passed); err != nil {
		return err
	}
	if _, err := b.pool.Exec(ctx, ageKeysSQL, endpoint, passed); err != nil {
		return err
	}
	if v.sweeps {
		_, err = b.pool.Exec(ctx, sweepClaimsSQL, sweptAfter)
	}
	return err
}
