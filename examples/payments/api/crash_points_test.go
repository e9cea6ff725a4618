package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The points here are lived through at every run, beside those that the matrix chooses.

// pointsNamed are points whose names begin with a word.
func pointsNamed(points []crashPoint, word string) (named []crashPoint) {
	for _, point := range points {
		if strings.HasPrefix(point.name, word) {
			named = append(named, point)
		}
	}
	return named
}

// A charge that was under way when the API died lands when the next one is at it already.
func TestCallThatOutlivesItsAPIIsOneCharge(t *testing.T) {
	c := newCrashSite(t)
	var tasks []crashTask
	for _, policy := range crashPolicies {
		if !policy.atomic() {
			tasks = append(tasks, crashTask{policy, pointsNamed(processorPoints, "killed, and the call lands")[0]})
		}
	}
	c.print(c.runAll(tasks))
}

// Article 004's main cause of abandoned keys is a deploy. An API that is asked to go leaves its keys to the next one at once, and
// not after a lease; here that is an hour.
func TestDeployLeavesKeysToTheNextAPIAtOnce(t *testing.T) {
	c := newCrashSite(t)
	var tasks []crashTask
	for _, policy := range crashPolicies {
		policy.api = append(slices.Clone(policy.api), "--lease=1h")
		policy.limit = crashSettle + time.Second // its last words
		points := processorPoints
		if policy.atomic() {
			points = orderPoints
		}
		tasks = append(tasks, crashTask{policy, pointsNamed(points, "SIGTERM, ")[0]})
	}
	c.print(c.runAll(tasks))
}

// An API that stops within the transaction of its books holds their rows. It does not keep the next one from them.
func TestStoppedAPIKeepsNobodyFromTheBooks(t *testing.T) {
	c := newCrashSite(t)
	var tasks []crashTask
	for _, name := range []string{"rerun", "resolve"} {
		policy := policyOf(name)
		statements, err := c.statements(policy, "dry-"+name, 201)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range pausePoints(statements) {
			if point.plan.name == "KeyCompleteTx" {
				tasks = append(tasks, crashTask{policy, point})
			}
		}
	}
	if len(tasks) != 2 {
		t.Fatalf("%d points, want 2", len(tasks))
	}
	c.print(c.runAll(tasks))
}
