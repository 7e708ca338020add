package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// Publisher sends a message to whoever subscribed: mail, a webhook, a queue.
type Publisher interface {
	Publish(ctx context.Context, subject, message string) error
}

// Threshold is the message about a share of a month's limit that a key has reached. Its JSON
// is what subscribers read.
type Threshold struct {
	Event   string `json:"event"`
	Percent int    `json:"percent"`
	KeyID   string `json:"key_id"`
	// Meter is the ID of the first key of the line: rotation keeps it.
	Meter string `json:"meter"`
	User  string `json:"user"`
	Plan  string `json:"plan"`
	Month string `json:"month"`
	Used  int64  `json:"used"`
	Limit int64  `json:"limit"`
	// RunsOutOn is the UTC day on which the limit is reached at the month's pace so far; null
	// if the month ends before.
	RunsOutOn *string `json:"runs_out_on"`
}

// tell sends the message once a month and percentage, however often the record comes. If it
// can't be sent, the next delivery of the record tries again.
func (h *Handler) tell(ctx context.Context, a account, admitted gateway.Admission) error {
	if h.Topic == nil {
		return nil
	}
	c, _ := admitted.Crossing()
	name := fmt.Sprintf("threshold#%s#%d", a.meter, c.Percent)
	first, err := h.Store.Once(ctx, name, a.period)
	if err != nil || !first {
		return err
	}
	message := Threshold{
		Event: "usage_threshold", Percent: c.Percent, KeyID: admitted.KeyID, Meter: admitted.Meter, User: admitted.UserID, Plan: admitted.Plan,
		Month: a.period.String(), Used: c.Used, Limit: c.Limit,
	}
	if at, ok := usage.AdmissionTime(admitted.AdmissionID); ok {
		message.RunsOutOn = runsOutOn(a.period, c, at)
	}
	text, err := json.MarshalIndent(message, "", "  ")
	if err != nil {
		return err
	}
	subject := fmt.Sprintf("Sekisho: key %s has used %d %% of its month", admitted.KeyID, c.Percent)
	if err := h.Topic.Publish(ctx, subject, string(text)); err != nil {
		return errors.Join(fmt.Errorf("tell that %s reached %d %%: %w", a.meter, c.Percent, err), h.Store.Again(ctx, name, a.period))
	}
	return nil
}

// runsOutOn extends the month's pace up to an instant.
func runsOutOn(p usage.Period, c gateway.Crossing, at time.Time) *string {
	elapsed := at.Sub(p.Start())
	if c.Used <= 0 || elapsed <= 0 {
		return nil
	}
	end := p.Start().Add(time.Duration(float64(elapsed) * float64(c.Limit) / float64(c.Used)))
	if !end.Before(p.Reset()) {
		return nil
	}
	day := usage.DayOf(end).String()
	return &day
}
