package storetest

import (
	"testing"

	"sekisho/functions/internal/ratelimit"
)

func TestMemory(t *testing.T) {
	t.Run("buckets", func(t *testing.T) { buckets(t, func(*testing.T) ratelimit.BucketStore { return &Memory{} }) })
	t.Run("dailies", func(t *testing.T) { dailies(t, func(*testing.T) ratelimit.DailyStore { return &Memory{} }) })
}
