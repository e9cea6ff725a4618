package main

import (
	"testing"

	"github.com/pgidem/pgidem/idem"
)

func TestForgetDeletesTheKeyWithItsSteps(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	holder := s.lost(t)
	s.db.insert(t, abandoned("k-2"))
	s.db.step(t, "k-2", 1, "charge", "")
	operate(t, s.db, "forget", "k-1").want(t, 0, "forgot k-1")
	if got := s.db.text(t, "SELECT count(*) FILTER (WHERE key = 'k-1') || ' ' || count(*) FILTER (WHERE key = 'k-2') FROM idem.steps"); got != "0 1" {
		t.Errorf("%s steps are left of this key and of another", got)
	}
	powerless(t, s, holder)
	next := s.claim(t, charge)
	if next.Attempt() != 1 || next.Fence() <= holder.Fence() {
		t.Errorf("the next claim is attempt %d under fence %d, after %d", next.Attempt(), next.Fence(), holder.Fence())
	}
}

func TestForgottenAnswerIsNotReplayed(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	if err := s.claim(t, charge).Complete(t.Context(), &idem.Response{Status: 201}); err != nil {
		t.Fatal(err)
	}
	operate(t, s.db, "forget", "k-1").want(t, 0)
	s.claim(t, charge)
	if got, want := s.db.audit(t), "ada: forget acme POST /charges k-1: ticket 4711"; got != want {
		t.Errorf("the audit says %q, want %q", got, want)
	}
}
