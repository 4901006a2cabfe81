/**
 * Writes bytes that arrive in pieces of any size to a store, in parts of one size.
 *
 * Guaranteed: at most `parallel + 1` parts are in memory; a piece is accepted only when there is room for it, so a slow store slows its
 * export. The object appears whole or not at all. After `abort` nothing is left of it, or the rejection says what may be left. The first
 * failure ends the upload; `abort` must still be called, because only it cleans up the store. Not guaranteed: when `finish` rejects, or
 * `abort` overtakes it, the object may exist, whole, because the store's response was lost.
 */
import type { Clock } from "../../clock.ts"
import { addressUrl, type StoreAddress } from "../addresses/target-address.ts"
import type { Part, PartSink } from "../providers/provider.ts"
import { responseMs, within } from "../requests/requests.ts"
import { type TargetError, targetError, targetErrorOf } from "../requests/target-error.ts"

/** An object being written. One call at a time, except `abort`, which may be called at any time. */
export interface ExportTarget {
  /** The object's URL. */
  readonly location: string
  /**
   * Copies a piece; resolves when the next may be written.
   *
   * @throws TargetError
   */
  write(data: Uint8Array): Promise<void>
  /**
   * Resolves when the object is whole and visible.
   *
   * @throws TargetError
   */
  finish(): Promise<WrittenObject>
  /**
   * Aborts the upload and removes what was written, within `discardMs` of {@link targetDeadlines}. An existing object of that name is untouched.
   * After `finish` has resolved it does nothing; a second call returns the same promise.
   *
   * @throws TargetError if parts may remain; the reason names them
   */
  abort(reason: string): Promise<void>
}

/** A completed object. */
export interface WrittenObject {
  readonly location: string
  readonly bytes: number
}

/**
 * ms that each step may take, retries included: from the request to the store's first response, one part, and so on. A part of 8 MiB in 2 min is 70 kB/s; an export
 * slower than that is not worth keeping the recording's blocks from retention.
 */
export const targetDeadlines = { openMs: responseMs, partMs: 120_000, commitMs: 60_000, discardMs: 30_000 } as const

/** ms that a part under way may take to end after an abort: a nearby store needs a tenth of it. */
const settleMs = 2000

export class PartWriter implements ExportTarget {
  readonly location: string
  readonly #address: StoreAddress
  readonly #sink: PartSink
  readonly #clock: Clock
  readonly #stop = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  readonly #spare: Buffer[] = []
  #filling: Buffer | undefined
  #filled = 0
  #sent = 0
  #parts = 0
  #failure: TargetError | undefined
  #finished = false
  #aborting: Promise<void> | undefined

  constructor(address: StoreAddress, sink: PartSink, clock: Clock) {
    this.location = addressUrl(address)
    this.#address = address
    this.#sink = sink
    this.#clock = clock
  }

  async write(data: Uint8Array): Promise<void> {
    let rest = data
    while (rest.length > 0) {
      // A full part waits for the byte after it: some stores need to know which part is the last.
      if (this.#filled === this.#sink.partBytes) await this.#send(false)
      this.#assertGoing()
      this.#filling ??= this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#sink.partBytes)
      const taken = rest.subarray(0, this.#sink.partBytes - this.#filled)
      this.#filling.set(taken, this.#filled)
      this.#filled += taken.length
      rest = rest.subarray(taken.length)
    }
  }

  async finish(): Promise<WrittenObject> {
    await this.#send(true)
    await Promise.all(this.#underWay)
    this.#assertGoing()
    try {
      await within(this.#clock, "completing the object", targetDeadlines.commitMs, this.#stop.signal, (signal) =>
        this.#sink.commit(signal),
      )
    } catch (cause) {
      throw this.#fail(cause)
    }
    this.#finished = true
    this.#release()
    return { location: this.location, bytes: this.#sent }
  }

  abort(reason: string): Promise<void> {
    if (this.#finished) return Promise.resolve()
    this.#aborting ??= this.#discard(reason)
    return this.#aborting
  }

  /** Sends the filled part as soon as one of the parts under way has made room. */
  async #send(last: boolean): Promise<void> {
    while (this.#underWay.size >= this.#sink.parallel && this.#failure === undefined) await Promise.race(this.#underWay)
    this.#assertGoing()
    const { partBytes, maximumParts } = this.#sink
    if (this.#parts === maximumParts) {
      throw this.#fail(
        targetError(this.#address, "too-large", `an object has at most ${maximumParts} parts of ${partBytes} bytes`),
      )
    }
    const buffer = this.#filling ?? Buffer.alloc(0)
    const bytes = buffer.subarray(0, this.#filled)
    const part = { number: ++this.#parts, offset: this.#sent, bytes, last }
    this.#sent += bytes.length
    this.#filling = undefined
    this.#filled = 0
    const putting = this.#put(part, buffer).finally(() => this.#underWay.delete(putting))
    this.#underWay.add(putting)
  }

  /** Never rejects. */
  async #put(part: Part, buffer: Buffer): Promise<void> {
    try {
      await within(this.#clock, `part ${part.number}`, targetDeadlines.partMs, this.#stop.signal, (signal) =>
        this.#sink.put(part, signal),
      )
      // Not earlier: an aborted request may still read from the buffer.
      if (buffer.length > 0) this.#spare.push(buffer)
    } catch (cause) {
      this.#fail(cause)
    }
  }

  async #discard(reason: string): Promise<void> {
    this.#failure ??= targetError(this.#address, "aborted", reason)
    // The store may still write a part that is cut off, after the request to remove everything.
    const settled = () => Promise.all(this.#underWay)
    await within(this.#clock, "parts under way", settleMs, undefined, settled).catch(() => undefined)
    this.#stop.abort(this.#failure)
    await Promise.all(this.#underWay)
    try {
      await within(this.#clock, "removing the parts", targetDeadlines.discardMs, undefined, (signal) =>
        this.#sink.discard(signal),
      )
    } catch (cause) {
      const { code, reason: why } = targetErrorOf(this.#address, cause)
      throw targetError(this.#address, code, `it was aborted, and parts of it may remain in the store: ${why}`)
    } finally {
      this.#release()
    }
  }

  #fail(cause: unknown): TargetError {
    this.#failure ??= targetErrorOf(this.#address, cause)
    this.#stop.abort(this.#failure)
    return this.#failure
  }

  #assertGoing(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#finished) throw targetError(this.#address, "failed", "the object is already complete")
  }

  #release(): void {
    this.#spare.length = 0
    this.#filling = undefined
    this.#sink.close?.()
  }
}
