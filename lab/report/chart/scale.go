package chart

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// scale is an axis: from where to where it goes, and where it is labelled.
type scale struct {
	min, max float64
	log      bool
	ticks    []float64
}

// newScale is one that holds the values. Linear, it starts at 0 where no value is below.
func newScale(values []float64, log bool) scale {
	s := scale{min: slices.Min(values), max: slices.Max(values), log: log}
	if !log && s.min > 0 {
		s.min = 0
	}
	if s.min == s.max {
		s.max = s.min + 1
		if log {
			s.max = s.min * 2
		}
	}
	s.ticks = s.rounds()
	return s
}

// round lets it end at round numbers.
func (s scale) round() scale {
	s.min, s.max = s.ticks[0], s.ticks[len(s.ticks)-1]
	return s
}

// at labels it at the values themselves, where they are few and far enough from each other; it goes no further than they do.
func (s scale) at(values []float64) scale {
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	const apart = 0.11 // of the axis, which a label of some digits needs
	inside := slices.DeleteFunc(slices.Clone(s.ticks), func(v float64) bool { return v < s.min || v > s.max })
	for i := 1; i < len(values); i++ {
		if s.norm(values[i])-s.norm(values[i-1]) < apart {
			s.ticks = inside
			return s
		}
	}
	s.ticks = values
	return s
}

func (s scale) norm(v float64) float64 {
	if s.log {
		return math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return (v - s.min) / (s.max - s.min)
}

// rounds are round numbers, from the last at or below the values to the first at or above them.
func (s scale) rounds() []float64 {
	if s.log {
		return s.logRounds()
	}
	const intervals = 5 // at most
	step := math.Pow(10, math.Floor(math.Log10((s.max-s.min)/intervals)))
	for _, times := range []float64{1, 2, 2.5, 5, 10} {
		if math.Ceil(s.max/(step*times))-math.Floor(s.min/(step*times)) <= intervals {
			step *= times
			break
		}
	}
	var ticks []float64
	for n := math.Floor(s.min / step); ; n++ {
		ticks = append(ticks, n*step)
		if n*step >= s.max {
			return ticks
		}
	}
}

// logRounds are powers of ten, and 2 and 5 between them where the values span no more than two.
func (s scale) logRounds() []float64 {
	between := []float64{1}
	if s.max/s.min <= 100 {
		between = []float64{1, 2, 5}
	}
	var ticks []float64
	for exponent := math.Floor(math.Log10(s.min)); ; exponent++ {
		for _, b := range between {
			v := b * math.Pow(10, exponent)
			if v <= s.min {
				ticks = ticks[:0]
			}
			ticks = append(ticks, v)
			if v >= s.max {
				return ticks
			}
		}
	}
}

// apply makes an axis of it.
func (s scale) apply(a *plot.Axis) {
	a.Min, a.Max = s.min, s.max
	if s.log {
		a.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(s.ticks))
	for i, v := range s.ticks {
		ticks[i] = plot.Tick{Value: v, Label: number(v)}
	}
	a.Tick.Marker = ticks
}
