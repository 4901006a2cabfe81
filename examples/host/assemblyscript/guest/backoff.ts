import { random } from "./wasi"

const firstMs: u64 = 200
const longestMs: u64 = 30000

/** Failures in a row. Hosts limit what a module asks for, but do not space its retries. */
export class Backoff {
  private failures: u32 = 0

  /**
   * Milliseconds until the next attempt: twice as many after each failure, less up to a half, so that modules that failed together do not
   * try again together.
   */
  next(): u64 {
    const full = min(firstMs << min(this.failures, 16), longestMs)
    this.failures++
    return <u64>(<f64>full * (1 - random() / 2))
  }

  /** Something succeeded. */
  reset(): void {
    this.failures = 0
  }
}
