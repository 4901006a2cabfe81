/** How fast watchers read, from counters that begin again with each life. */
import type { Clock } from "../../clock.ts"

export class ByteRates {
  readonly #clock: Clock
  readonly #bytesRead: (gvk: string) => Promise<number | undefined>
  readonly #before = new Map<string, { readonly bytes: number; readonly atMs: number }>()

  constructor(clock: Clock, bytesRead: (gvk: string) => Promise<number | undefined>) {
    this.#clock = clock
    this.#bytesRead = bytesRead
  }

  /** Bytes per second since the previous call; `undefined` at the first, after a restart, and if the watcher does not respond. */
  async take(gvk: string): Promise<number | undefined> {
    const before = this.#before.get(gvk)
    const bytes = await this.#bytesRead(gvk)
    const atMs = this.#clock.monotonicMs()
    if (bytes === undefined) {
      this.#before.delete(gvk)
      return undefined
    }
    this.#before.set(gvk, { bytes, atMs })
    if (before === undefined || bytes < before.bytes || atMs <= before.atMs) return undefined
    return ((bytes - before.bytes) * 1000) / (atMs - before.atMs)
  }

  forget(gvk: string): void {
    this.#before.delete(gvk)
  }
}
