//! How long to wait after a failure.

use super::wasi::random;

const FIRST_MS: u64 = 200;
const LONGEST_MS: u64 = 30_000;

/// Failures in a row. Hosts limit what a module asks for, but do not space its retries.
#[derive(Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Milliseconds until the next attempt: twice as many after each failure, less up to a half, so that modules that failed together do
    /// not try again together.
    pub fn next_ms(&mut self) -> u64 {
        let full = (FIRST_MS << self.failures.min(16)).min(LONGEST_MS);
        self.failures += 1;
        (full as f64 * (1.0 - random() / 2.0)) as u64
    }

    /// Something succeeded.
    pub fn reset(&mut self) {
        self.failures = 0
    }
}
