/**
 * Bytes that come in pieces of any size, written to a store in parts of one size.
 *
 * Guaranteed: at most `parallel + 1` parts are in memory, whatever comes; a piece is taken only when there is room for it, so a
 * slow store holds its export back. The object appears whole or not at all. After `abort` nothing is left of it, or the rejection
 * says what may be. The first failure ends everything; `abort` is still to be called, because only it clears the store.
 * Not guaranteed: when `finish` rejects, or `abort` overtakes it, the object may be there, whole; its answer was lost.
 */
import type { Clock, Timer } from "../clock.ts"
import { within } from "./deadline.ts"
import { addressUrl, type StoreAddress } from "./target-address.ts"
import { type TargetError, targetError, targetErrorOf } from "./target-error.ts"

/** An object that is being written. One call at a time, except `abort`, which may come at any time. */
export interface ExportTarget {
  /** The object's URL. */
  readonly location: string
  /**
   * Takes a piece and copies it; resolves when the next may come.
   *
   * @throws TargetError
   */
  write(data: Uint8Array): Promise<void>
  /**
   * The object is whole and visible when this resolves.
   *
   * @throws TargetError
   */
  finish(): Promise<WrittenObject>
  /**
   * Gives the object up and removes what was written of it; within {@link TargetDeadlines.discardMs}. An object of that name that
   * was there before is untouched. After `finish` has resolved it does nothing; called again it answers the same.
   *
   * @throws TargetError if parts may remain, which the reason names
   */
  abort(reason: string): Promise<void>
}

/** An object that was written. */
export interface WrittenObject {
  readonly location: string
  readonly bytes: number
}

/** One part. */
export interface Part {
  /** From 1, without gaps. */
  readonly number: number
  /** bytes of the object before it. */
  readonly offset: number
  /** Of the sink's part size, except the last. Not to be read after `put` has settled. Empty only if the whole object is. */
  readonly bytes: Uint8Array
  readonly last: boolean
}

/** What a store does with parts. Rejections are the SDK's own errors. */
export interface PartSink {
  /** bytes of each part but the last. */
  readonly partBytes: number
  /** Parts under way at once. */
  readonly parallel: number
  readonly maximumParts: number
  put(part: Part, signal: AbortSignal): Promise<void>
  /** Makes the object of all parts. */
  commit(signal: AbortSignal): Promise<void>
  /** Removes what is there of it. Follows on `put` and `commit` that were given up and may still have their effect. */
  discard(signal: AbortSignal): Promise<void>
  /** Ends connections; the last call. */
  close(): void
}

/** ms that each step may take, repetitions included. */
export interface TargetDeadlines {
  /** From the request to the first answer of the store. */
  readonly openMs: number
  /** One part. */
  readonly partMs: number
  readonly commitMs: number
  readonly discardMs: number
}

/** A part of 8 MiB in 2 min is 70 kB/s; slower than that an export is not worth holding the recording's blocks for. */
export const targetDeadlines: TargetDeadlines = { openMs: 20_000, partMs: 120_000, commitMs: 60_000, discardMs: 30_000 }

/** ms that a part under way may take to end once its object is given up: a store nearby needs a tenth of it. */
const settleMs = 2000

export class PartWriter implements ExportTarget {
  readonly location: string
  readonly #address: StoreAddress
  readonly #sink: PartSink
  readonly #clock: Clock
  readonly #deadlines: TargetDeadlines
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

  constructor(address: StoreAddress, sink: PartSink, clock: Clock, deadlines: TargetDeadlines) {
    this.location = addressUrl(address)
    this.#address = address
    this.#sink = sink
    this.#clock = clock
    this.#deadlines = deadlines
  }

  async write(data: Uint8Array): Promise<void> {
    let rest = data
    while (rest.length > 0) {
      // A full part waits for the byte that follows it: some stores must be told which part is the last.
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
      await within(this.#clock, "completing the object", this.#deadlines.commitMs, this.#stop.signal, (signal) =>
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

  /** Sends what is filled as soon as one of the parts under way has made room. */
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
      await within(this.#clock, `part ${part.number}`, this.#deadlines.partMs, this.#stop.signal, (signal) =>
        this.#sink.put(part, signal),
      )
      // Only now: a request that was given up may still be read from.
      if (buffer.length > 0) this.#spare.push(buffer)
    } catch (cause) {
      this.#fail(cause)
    }
  }

  async #discard(reason: string): Promise<void> {
    this.#failure ??= targetError(this.#address, "aborted", reason)
    await this.#settled()
    this.#stop.abort(this.#failure)
    await Promise.all(this.#underWay)
    try {
      await within(
        this.#clock,
        "removing the parts",
        this.#deadlines.discardMs,
        new AbortController().signal,
        (signal) => this.#sink.discard(signal),
      )
    } catch (cause) {
      const { code, reason: why } = targetErrorOf(this.#address, cause)
      throw targetError(this.#address, code, `it was aborted, and parts of it may remain in the store: ${why}`)
    } finally {
      this.#release()
    }
  }

  /**
   * Lets parts under way end by themselves for a while: one that is cut off may be written by the store all the same, after it was
   * asked to remove everything.
   */
  async #settled(): Promise<void> {
    if (this.#underWay.size === 0) return
    let patience: Timer | undefined
    const enough = new Promise<void>((resolve) => {
      patience = this.#clock.after(settleMs, resolve)
    })
    await Promise.race([Promise.all(this.#underWay), enough])
    patience?.cancel()
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
    this.#sink.close()
  }
}
