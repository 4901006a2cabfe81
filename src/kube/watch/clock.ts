/** The time that the watch protocol needs; any clock with these methods fits. */
export interface WatchClock {
  /** Wall clock in µs since the Unix epoch. */
  wallMicros(): number
  /** Monotonic ms. */
  monotonicMs(): number
  /** Calls `action` once after `delayMs`, unless cancelled before. */
  after(delayMs: number, action: () => void): { cancel(): void }
}
