package brake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// announceLease is how long a run may take to tell finance, before another one does.
const announceLease = 30 * time.Second

// announce tells finance, once for each brake. A run takes the announcement before it makes
// it, so that two at once don't both; if it dies in between, a later run makes it.
func (b *Brake) announce(ctx context.Context) error {
	s, err := b.Memory.Load(ctx)
	if err != nil {
		return fmt.Errorf("read the brake's state: %w", err)
	}
	if s.Phase != On || b.announced(s) {
		return nil
	}
	return b.tell(ctx, s, nil)
}

// announceFailure tells finance of a brake that could not be put on in full.
func (b *Brake) announceFailure(ctx context.Context, s State, failure error) error {
	if b.announced(s) {
		return nil
	}
	return b.tell(ctx, s, failure)
}

func (b *Brake) announced(s State) bool {
	return !s.Announced.IsZero() || b.Now().Sub(s.Announcing) < announceLease
}

func (b *Brake) tell(ctx context.Context, s State, failure error) error {
	s.Announcing = b.Now()
	s, err := b.Memory.Save(ctx, s)
	if errors.Is(err, ErrChanged) {
		return nil // another run tells, or there is nothing to tell any more
	}
	if err != nil {
		return fmt.Errorf("save the brake's state: %w", err)
	}
	subject, text := b.Message(s, failure)
	told := b.Announcer.Announce(ctx, subject, text)
	if told == nil {
		s.Announced = b.Now()
	}
	s.Announcing = time.Time{}
	if _, err := b.Memory.Save(ctx, s); err != nil && !errors.Is(err, ErrChanged) {
		return errors.Join(told, fmt.Errorf("save the brake's state: %w", err))
	}
	if told != nil {
		return fmt.Errorf("tell finance: %w", told)
	}
	return nil
}

// Message is what finance reads. failure is why the brake is not on in full; nil if it is.
func (b *Brake) Message(s State, failure error) (subject, text string) {
	var t strings.Builder
	subject = "Sekisho " + b.Stack + ": spending is stopped"
	fmt.Fprintf(&t, "Spending of %s is stopped since %s.\n\n", b.Stack, s.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	if failure != nil {
		subject = "Sekisho " + b.Stack + ": spending could not be stopped in full"
		t.Reset()
		fmt.Fprintf(&t, "Spending of %s should be stopped since %s, but not all could be:\n\n  %s\n\nIt is tried again twice within some minutes. Look at it with the command below, status instead of off.\n\n",
			b.Stack, s.Since.UTC().Format("2006-01-02 15:04:05 UTC"), strings.ReplaceAll(failure.Error(), "\n", "\n  "))
	}
	fmt.Fprintf(&t, "WHY\n  %s\n\n", s.Cause.Text)
	t.WriteString("STOPPED (reserved concurrency 0; in brackets what it was)\n")
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		fmt.Fprintf(&t, "  %s (%s)\n", function, Ceiling(s.Previous[function]))
	}
	t.WriteString(`Nothing of these starts any more; what was running ends within its timeout.

STILL WORKS
  Keys are checked; usage, tool settings and health answer. Agents get 503 "braked" with
  the advice not to retry, and are not charged.

TO RELEASE
`)
	fmt.Fprintf(&t, "  %s\n", b.ReleaseCommand)
	t.WriteString(`  The next terraform apply releases it too, and restores the declared values. Nothing
  else does: when the alarm is over, the brake stays on. Find out first what was spent:
  sekisho usage shows it by key.
`)
	return clip(subject), t.String()
}

// Ceiling writes a reserved concurrency for people.
func Ceiling(n int) string {
	switch n {
	case Unreserved:
		return "unreserved"
	case 0:
		return "0, off already"
	default:
		return fmt.Sprintf("%d reserved", n)
	}
}

// clip makes a subject that SNS takes (docs.aws.amazon.com/sns/latest/api/API_Publish.html).
func clip(subject string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, subject)
	return plain[:min(len(plain), 100)]
}
