package model

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Model is the sequential specification, key by key. Its operations are Operation and Result.
func Model() porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Partition: byKey,
		Init:      func() any { return key{} },
		Step: func(state, input, output any) (bool, any) {
			next, ok := state.(key).step(input.(Operation), output.(Result))
			return ok, next
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(key)) },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%v → %v", input.(Operation), output.(Result))
		},
		DescribeState: func(state any) string { return state.(key).String() },
	}
}

// step says whether the key can answer so, and what it is then.
func (k key) step(in Operation, out Result) (key, bool) {
	switch in.Kind {
	case Do:
		return k.do(in, out)
	case Claim:
		return k.claim(in, out)
	case Decide:
		return k.decide(in, out)
	case Effect:
		return k.effect(in, out)
	case Complete, CompleteTx:
		return k.complete(in, out)
	case Extend:
		return k.prolong(in, out)
	case Release:
		return k.release(in, out)
	case GiveBack:
		return k.giveBack(in)
	case Abandon:
		return k.end(in)
	case StepBegin:
		return k.beginStep(in, out)
	case StepFinish:
		return k.finishStep(in, out)
	case StepUndo:
		return k.undoStep(in)
	case StepReplay:
		return k.replayStep(in, out)
	case StepTx:
		return k.stepTx(in, out)
	case Age:
		return k.age(out)
	case Expire:
		return k.expire(out)
	case Sweep:
		return k.sweep()
	case Settle:
		return k.settle(in, out)
	case OperatorRelease:
		return k.operatorRelease(in, out)
	case Lookup:
		return k, k.lookup(out)
	case Rows:
		return k, k.look(out)
	}
	return k, false
}

// byKey partitions a history: no operation touches two keys.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, op := range history {
		name := op.Input.(Operation).Key
		parts[name] = append(parts[name], op)
	}
	var all [][]porcupine.Operation
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, parts[name])
	}
	return all
}
