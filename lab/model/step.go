package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Output names what was done under a claim for a request; it tells the lives of a key apart.
func Output(kind string, request, token int) string {
	return fmt.Sprintf("%s.%d.%d", kind, request, token)
}

func isOutputOf(request int, output string) bool {
	parts := strings.Split(output, ".")
	return len(parts) == 3 && parts[1] == strconv.Itoa(request)
}

// effect is what happens at the downstream, whoever holds the key: once for a request.
func (k key) effect(in Operation, out Result) (key, bool) {
	bit := uint64(1) << in.Request
	had := k.effects[in.Step]&bit != 0
	switch out.Outcome {
	case OK:
		k.effects[in.Step] |= bit
		if k.request == in.Request {
			k.had[in.Step] = in.Answer
		}
		return k, !had
	case Replayed:
		return k, had && (k.request != in.Request || k.had[in.Step] == out.Answer)
	}
	return k, false
}

func (k key) beginStep(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	next := k.extend(in)
	next.doubtful[in.Step] = k.steps[in.Step] == begun
	next.steps[in.Step] = begun
	switch out.Outcome {
	case OK:
		return next, mine && (k.steps[in.Step] == "" || k.steps[in.Step] == begun)
	case LeaseLost:
		return k, !mine
	case Unknown: // it began before, and cannot be asked about
		return k, !mine || k.steps[in.Step] == begun
	case Unfinished:
		if mine {
			return next, true
		}
		return k, true
	}
	return k, false
}

func (k key) finishStep(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	next := k.extend(in)
	next.steps[in.Step] = in.Answer
	switch out.Outcome {
	case OK:
		return next, mine && k.steps[in.Step] == begun && k.had[in.Step] == in.Answer
	case LeaseLost:
		return k, !mine
	case Unfinished:
		if mine {
			return next, true
		}
		return k, true
	}
	return k, false
}

// undoStep takes back that a step began, unless it had begun before and nobody has asked.
func (k key) undoStep(in Operation) (key, bool) {
	if k.isHeldBy(in.Token) && (in.Asked || !k.doubtful[in.Step]) {
		k = k.extend(in)
		k.steps[in.Step] = ""
	}
	return k, true
}

// replayStep is a step that returns what is recorded. A holder of an earlier life gets what was recorded in that one.
func (k key) replayStep(in Operation, out Result) (key, bool) {
	if k.request == in.Request && k.status != none {
		return k, k.steps[in.Step] == out.Answer && out.Answer != begun && out.Answer != ""
	}
	return k, isOutputOf(in.Request, out.Answer)
}

// stepTx is a step and its row.
func (k key) stepTx(in Operation, out Result) (key, bool) {
	mine := k.isHeldBy(in.Token)
	fits := mine && k.steps[in.Step] == ""
	next := k.extend(in).insert(in.Row)
	next.steps[in.Step] = in.Answer
	switch out.Outcome {
	case OK:
		return next, fits
	case LeaseLost:
		return k, !mine
	case Failed:
		return k, true
	case Unfinished:
		if fits {
			return next, true
		}
		return k, true
	}
	return k, false
}
