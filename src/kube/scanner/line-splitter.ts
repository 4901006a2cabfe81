/**
 * Cuts a stream of bytes into lines.
 *
 * A line that is whole in a chunk is passed on in place; one that spans chunks is assembled in a buffer of its own, in time linear in its
 * length. CRLF ends a line like LF, empty lines are left out. A line without its line feed is never passed on: if {@link
 * LineSplitter.pendingBytes} is not 0 when the stream ends, the stream was cut off.
 */
import * as Schema from "effect/Schema"

// Memory for unfinished lines and list items that are larger than any ordinary object, shared by all threads that read from the API server.

/** etcd refuses objects above 1.5 MiB unless configured otherwise. As JSON with its managedFields, an object may be somewhat larger than it is stored. */
export const freeBytes = 2 * 1024 * 1024

/** Threads at most; beyond that many, threads share slots, and what one that dies has taken is given back by whichever of them starts next. */
const slots = 1024

export class LineBudget {
  readonly #taken: Int32Array
  readonly #slot: number
  readonly #limit: number

  /** `memory`: from {@link LineBudget.memory}, the same for all threads. `limit`: bytes for all threads together. */
  constructor(memory: SharedArrayBuffer, slot: number, limit: number) {
    this.#taken = new Int32Array(memory)
    this.#slot = slot % slots
    this.#limit = limit
    Atomics.store(this.#taken, this.#slot, 0)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT)
  }

  /** Takes bytes; false, and nothing taken, if all threads together would have more than the limit. */
  take(bytes: number): boolean {
    // Its own share first: of two threads that ask at the same moment, at most both are refused.
    Atomics.add(this.#taken, this.#slot, bytes)
    let sum = 0
    for (let slot = 0; slot < slots; slot++) sum += Atomics.load(this.#taken, slot)
    if (sum <= this.#limit) return true
    Atomics.sub(this.#taken, this.#slot, bytes)
    return false
  }

  /** Gives back bytes that were taken, at once or little by little. */
  give(bytes: number): void {
    Atomics.sub(this.#taken, this.#slot, bytes)
  }
}

// Keeps the start of a line or list item whose end has not arrived yet.

/** A line or list item is longer than the limit: the sender is not an API server, or its line ends were lost. */
export class TooLongError extends Schema.TaggedError<TooLongError>()("TooLongError", {
  /** Bytes. */
  limit: Schema.Number,
}) {
  override get message() {
    return `more than ${this.limit} bytes without the end of a line or a list item`
  }
}

/** The unfinished lines and list items of all kinds together take more memory than they may. */
export class LinesTooLargeError extends Schema.TaggedError<LinesTooLargeError>()("LinesTooLargeError", {
  /** Bytes of this line so far. */
  length: Schema.Number,
}) {
  override get message() {
    return `${this.length} bytes without the end of a line or a list item, and no memory is left for large lines of all kinds`
  }
}

/** The line is given up; the rest of the response is useless. */
export const isLineTooLarge = (error: unknown): error is TooLongError | LinesTooLargeError =>
  error instanceof TooLongError || error instanceof LinesTooLargeError

/**
 * Default limit in bytes: 16 MiB. etcd rejects objects above 1.5 MiB unless configured otherwise, so no object that a real API server
 * stores comes near it.
 */
export const defaultLongest = 16 * 1024 * 1024

/** Smallest allocation in bytes: most objects fit, and it stays allocated between two of them. */
const smallest = 16 * 1024
/** Bytes that may stay allocated when the buffer is emptied. */
const keptWhenEmpty = 1024 * 1024

export class CarryBuffer {
  /** The carried bytes are [0, length). Replaced when it grows and when it is emptied. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  private readonly longest: number
  private readonly budget: LineBudget | undefined
  /**
   * Memory of {@link bytes} beyond what may stay allocated. It grows in place and is given back at once: buffers of the usual kind would be copied, wait for V8, which
   * lets some 64 MB become garbage in each thread, and then stay in the arenas of malloc. A recorder of 20 kinds whose lines never ended had 2.65 GB when lines of 64 MiB
   * were kept in such buffers without a budget; with this and the budget it has 530 MB.
   */
  private large: ArrayBuffer | undefined
  /** Bytes taken from the budget. */
  private taken = 0

  /** `budget`: of all threads, for what exceeds {@link freeBytes}; default: none. */
  constructor(longest: number, budget?: LineBudget) {
    this.longest = longest
    this.budget = budget
  }

  /** @throws TooLongError, LinesTooLargeError if a limit would be exceeded; what was carried before is dropped. */
  append(source: Buffer, start: number, end: number): void {
    const length = this.length + end - start
    if (length > this.longest) {
      this.clear()
      throw new TooLongError({ limit: this.longest })
    }
    if (length > this.bytes.length) this.grow(length)
    source.copy(this.bytes, this.length, start, end)
    this.length = length
  }

  clear(): void {
    this.length = 0
    if (this.large !== undefined) {
      // Gives the pages back at once; the address space goes when the buffer is collected.
      this.large.resize(0)
      this.large = undefined
      this.bytes = Buffer.alloc(0)
    }
    if (this.taken > 0) this.budget?.give(this.taken)
    this.taken = 0
  }

  private grow(length: number): void {
    const size = Math.min(Math.max(length, this.bytes.length * 2, smallest), this.longest)
    const more = size - freeBytes - this.taken
    if (this.budget !== undefined && more > 0) {
      if (!this.budget.take(more)) {
        this.clear()
        throw new LinesTooLargeError({ length })
      }
      this.taken += more
    }
    if (size <= keptWhenEmpty) this.replace(Buffer.allocUnsafeSlow(size))
    else if (this.large === undefined) {
      this.large = new ArrayBuffer(size, { maxByteLength: this.longest })
      this.replace(Buffer.from(this.large, 0, size))
    } else {
      this.large.resize(size)
      this.bytes = Buffer.from(this.large, 0, size)
    }
  }

  private replace(grown: Buffer): void {
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Bytes [start, end) of `bytes` are one line or list item, valid only during the call. Must not throw. */
export type SpanListener = (bytes: Buffer, start: number, end: number) => void

export class LineSplitter {
  private readonly listener: SpanListener
  private readonly carry: CarryBuffer

  /**
   * @param options.longest bytes of the longest line that may span chunks; default {@link defaultLongest}
   * @param options.budget of all threads, for lines beyond `freeBytes`; default: none
   */
  constructor(
    listener: SpanListener,
    options: { readonly longest?: number; readonly budget?: LineBudget | undefined } = {},
  ) {
    this.listener = listener
    this.carry = new CarryBuffer(options.longest ?? defaultLongest, options.budget)
  }

  /** Bytes received since the last line feed. */
  get pendingBytes(): number {
    return this.carry.length
  }

  /** Forgets an unfinished line and gives back what it took: the stream has ended. */
  reset(): void {
    this.carry.clear()
  }

  /**
   * Reads bytes [start, end) of a chunk, which may be reused after the call.
   *
   * @throws TooLongError, LinesTooLargeError if a line is longer than allowed. The rest of the chunk is lost: abort the stream.
   */
  push(chunk: Buffer, start: number, end: number): void {
    let from = start
    const carry = this.carry
    if (carry.length > 0 && from < end) {
      const lineFeed = chunk.indexOf(LINE_FEED, from)
      if (lineFeed < 0 || lineFeed >= end) {
        carry.append(chunk, from, end)
        return
      }
      carry.append(chunk, from, lineFeed)
      this.emit(carry.bytes, 0, carry.length)
      carry.clear()
      from = lineFeed + 1
    }
    while (from < end) {
      const lineFeed = chunk.indexOf(LINE_FEED, from)
      if (lineFeed < 0 || lineFeed >= end) {
        carry.append(chunk, from, end)
        return
      }
      this.emit(chunk, from, lineFeed)
      from = lineFeed + 1
    }
  }

  private emit(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    if (last > start) this.listener(bytes, start, last)
  }
}
