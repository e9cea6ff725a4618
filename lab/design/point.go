package design

// Point is a moment in the handling of a payment at which an experiment may kill its process.
type Point string

const (
	Sent       Point = "sent"     // the processor has been asked, and has not answered
	Taken      Point = "taken"    // the money is taken, and nothing here says so
	StepIsKept Point = "recorded" // the step that took it is recorded, and the answer is not
)

// At is told of every Point that a payment passes. nil: nobody is.
type At func(Point)

func (a At) passes(p Point) {
	if a != nil {
		a(p)
	}
}
