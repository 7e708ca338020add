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

// announceLease is how long one run may take to notify finance before another one tries.
const announceLease = 30 * time.Second

// announce notifies finance, once each time the brake is put on. A run claims the
// announcement before sending it, so that concurrent runs don't both send it; if it dies in
// between, a later run sends it.
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

// announceFailure notifies finance that the brake could not be put on in full.
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
		return nil // another run sends it, or the brake has been released
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
		return fmt.Errorf("notify finance: %w", told)
	}
	return nil
}

// Message is the announcement to finance. failure says why the brake is not fully on; nil if
// it is.
func (b *Brake) Message(s State, failure error) (subject, text string) {
	var t strings.Builder
	subject = "Sekisho " + b.Name + ": spending has been stopped"
	fmt.Fprintf(&t, "The brake stopped spending by %s at %s.\n\n", b.Name, s.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	if failure != nil {
		subject = "Sekisho " + b.Name + ": spending could not be fully stopped"
		t.Reset()
		fmt.Fprintf(&t, "The brake tried to stop spending by %s at %s, but something could not be stopped:\n\n  %s\n\nIt will try twice more within a few minutes. To check, run the command below with status instead of off.\n\n",
			b.Name, s.Since.UTC().Format("2006-01-02 15:04:05 UTC"), strings.ReplaceAll(failure.Error(), "\n", "\n  "))
	}
	fmt.Fprintf(&t, "WHY\n  %s\n\n", s.Cause.Text)
	t.WriteString("STOPPED (reserved concurrency set to 0; previous value in brackets)\n")
	for _, function := range slices.Sorted(maps.Keys(s.Previous)) {
		fmt.Fprintf(&t, "  %s (%s)\n", function, Ceiling(s.Previous[function]))
	}
	fmt.Fprintf(&t, "None of these can start any more; calls already running end within their timeout.\n\nCLOSED (throttled to 0 calls per second, which AWS does not bill)\n")
	for _, method := range slices.Sorted(maps.Keys(s.Throttles)) {
		fmt.Fprintf(&t, "  %s\n", method)
	}
	t.WriteString(`
STILL WORKING
  Usage, tool settings and health respond. Agents get "braked" from everything else, are
  told not to retry, and are not charged.

TO RELEASE
`)
	fmt.Fprintf(&t, "  %s\n", b.ReleaseCommand)
	t.WriteString(`  Nothing else does: the brake stays on after the alarm clears, and a terraform apply leaves
  it on, so that what caused it can be mended first. Find out where the money went: sekisho
  usage shows usage by key. Once released, the alarms trip it again if spending goes on.
`)
	return clip(subject), t.String()
}

// Ceiling describes a ceiling in words.
func Ceiling(n int) string {
	switch n {
	case Unreserved:
		return "unreserved"
	case 0:
		return "0, already off"
	default:
		return fmt.Sprintf("%d reserved", n)
	}
}

// clip makes a subject that SNS accepts (docs.aws.amazon.com/sns/latest/api/API_Publish.html).
func clip(subject string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, subject)
	return plain[:min(len(plain), 100)]
}
