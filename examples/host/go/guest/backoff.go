package guest

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// Backoff counts failures in a row. Hosts limit what a module asks for, but do not space its retries.
type Backoff struct{ failures int }

// Next is the time to wait before the next attempt: twice as long after each failure, less up to a half, so that modules that failed
// together do not try again together.
func (b *Backoff) Next() time.Duration {
	pause := min(firstPause<<min(b.failures, 16), longestPause)
	b.failures++
	return pause - rand.N(pause/2)
}

// Reset is called when something succeeded.
func (b *Backoff) Reset() { b.failures = 0 }
