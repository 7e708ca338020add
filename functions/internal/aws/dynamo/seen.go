package dynamo

import "sync"

// seen remembers the rate's state of meters as this instance last saw it, to begin with the
// likelier form of the next write. It decides nothing: a wrong guess costs a second write.
type seen struct {
	mu   sync.Mutex
	tats map[string]int64
}

// maxSeen bounds the memory. Beyond it, buckets that are full again are forgotten, and
// should there be none, all are.
const maxSeen = 10_000

// tat is 0 for a meter that was not seen: most buckets are full.
func (s *seen) tat(meter string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tats[meter]
}

func (s *seen) note(meter string, tat, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tats) >= maxSeen {
		for m, old := range s.tats {
			if old <= now {
				delete(s.tats, m)
			}
		}
		if len(s.tats) >= maxSeen {
			clear(s.tats)
		}
	}
	if s.tats == nil {
		s.tats = map[string]int64{}
	}
	s.tats[meter] = tat
}
