package storetest

import (
	"context"
	"errors"
	"testing"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/usage"
)

// cancelledUsage: a call whose caller has gone away must not be admitted.
func cancelledUsage(t *testing.T, s usage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := meter()
	if d, err := s.Admit(ctx, admission(m, 1, 10)); err == nil {
		t.Errorf("Admit: %+v, want an error", d)
	}
	if o, err := s.Refund(ctx, refundOf(admission(m, 1, 10), 10)); err == nil {
		t.Errorf("Refund: %v, want an error", o)
	}
	if c, err := s.Counts(ctx, m, november); err == nil {
		t.Errorf("Counts: %+v, want an error", c)
	}
	wantCounts(t, s, m, november, 0, 0)
}

func cancelledAccounts(t *testing.T, s account.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.CreateUser(ctx, user("ada")); err == nil {
		t.Error("CreateUser: want an error")
	}
	if k, err := s.Key(ctx, newKey("ada").ID); err == nil {
		t.Errorf("Key: %+v, want an error", k)
	}
	if u, err := s.User(t.Context(), "ada"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("user %+v, %v; want none", u, err)
	}
}
