package keys

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report/chart"
)

func (r *Result) charts() []chart.Chart {
	return []chart.Chart{
		r.rates(),
		r.bars("WAL written for a row", "bytes", func(k Kind) float64 { return k.perRow(k.WALBytes) }, "%.0f"),
		r.bars("The primary key's index", "MB", func(k Kind) float64 { return float64(k.IndexBytes) / 1e6 }, "%.1f"),
	}
}

// rates is how fast keys go in as the index grows.
func (r *Result) rates() chart.Lines {
	lines := chart.Lines{
		Title: "Inserting as the index grows",
		X:     "rows in the table, thousands",
		Y:     "rows inserted a second",
	}
	for _, t := range r.Tables {
		for _, k := range t.Kinds {
			line := chart.Line{Label: k.Name + ", " + t.Name}
			for i, insert := range k.Inserts {
				line.Points = append(line.Points, chart.Point{
					X: float64((i+1)*r.RowsPerInsert) / 1000, Y: float64(r.RowsPerInsert) / insert.Seconds,
				})
			}
			lines.Lines = append(lines.Lines, line)
		}
	}
	return lines
}

func (r *Result) bars(title, unit string, value func(Kind) float64, format string) chart.Bars {
	bars := chart.Bars{Title: title, Unit: unit}
	for _, t := range r.Tables {
		for _, k := range t.Kinds {
			v := value(k)
			bars.Bars = append(bars.Bars, chart.Bar{Label: k.Name + ", " + t.Name, Value: v, Text: fmt.Sprintf(format, v)})
		}
	}
	return bars
}
