/** Reads a watch or a streaming list, line by line. */
import { isLineTooLarge, type LineBudget, LineSplitter } from "../../scanner/line-splitter.ts"

import type { DetectRules } from "../../scanner/object/detect-rules.ts"
import { scanWatchLineSlowly, UnreadableError } from "../../scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner } from "../../scanner/watch-line.ts"
import { type ApiStatus, plainStatus, readStatus } from "../../status.ts"
import type { ObservedObject } from "../liveness/observed-object.ts"
import { createdSeconds } from "../liveness/written-time.ts"
import type { StreamId } from "../protocol/protocol.ts"
import { type StreamEvents, StreamReader, statusBytes } from "./stream-reader.ts"

// Tells the initial objects of a streaming list from live events, for as long as its end bookmark has not come.
//
// A server that does not know `sendInitialEvents` begins with the same `ADDED` events and continues with live ones, in
// the same form and for ever. Of these, a change or deletion is no initial object, nor is what was added before in this
// list, nor what was created after the response had begun. So the number of initial objects is finite, however busy the
// kind is.

class InitialObjects {
  /** Initial objects so far. */
  count = 0
  /**
   * Hashes of their UIDs. Two objects with the same hash count once, which is harmless: 1 in 10,000 objects at 100,000.
   */
  readonly #seen = new Set<number>()
  /** The server's clock when it began to respond, s since the Unix epoch; `undefined` if it sends none. */
  readonly #begun: number | undefined

  constructor(begunMs: number | undefined) {
    this.#begun = begunMs === undefined ? undefined : Math.floor(begunMs / 1000)
  }

  /** An `ADDED` event. */
  added(object: Readonly<ObservedObject>): void {
    const uid = hashOf(object)
    if (this.#seen.has(uid)) return
    this.#seen.add(uid)
    if (this.#begun === undefined || createdSeconds(object) <= this.#begun) this.count++
  }
}

/** FNV-1a, 30 bits: a Set keeps such integers without boxing them. */
const hashOf = ({ bytes, scanned: { uidStart, uidEnd } }: Readonly<ObservedObject>): number => {
  let hash = 0x811c9dc5
  for (let at = uidStart; at < uidEnd; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return hash & 0x3fffffff
}

/** A watch; with `streamingList` the synthetic events before the end bookmark are a list. */
export class WatchReader extends StreamReader {
  readonly #scanner: WatchLineScanner
  readonly #splitter: LineSplitter
  #listing: boolean
  /** While {@link #listing}. */
  #initial: InitialObjects | undefined
  /** Body bytes before the present line and after it, for messages. */
  #offset = 0
  #nextOffset = 0

  constructor(
    stream: StreamId,
    events: StreamEvents,
    rules: DetectRules,
    streamingList: boolean,
    budget?: LineBudget | undefined,
  ) {
    const scanner = new WatchLineScanner(rules)
    super(stream, events, rules, scanner.object)
    this.#scanner = scanner
    this.#listing = streamingList
    this.#splitter = new LineSplitter((bytes, start, end) => this.#line(bytes, start, end), { budget })
  }

  override get initialObjects(): number {
    return this.#initial?.count ?? 0
  }

  protected override get pending(): number {
    return this.#splitter.pendingBytes
  }

  protected override release(): void {
    this.#splitter.reset()
  }

  protected override body(buffer: Buffer, start: number, end: number): void {
    try {
      this.#splitter.push(buffer, start, end)
    } catch (cause) {
      if (!isLineTooLarge(cause)) throw cause
      this.malformed(`${cause.message}, after ${this.#offset} bytes`)
    }
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (!this.live) return
    const scanner = this.#scanner
    this.#offset = this.#nextOffset
    this.#nextOffset += end - start + 1
    if (scanner.scan(bytes, start, end)) {
      this.#event(bytes, scanner.objectStart, scanner.objectEnd)
      return
    }
    this.events.slowLine()
    const slow = scanWatchLineSlowly(scanner, bytes, start, end)
    if (slow instanceof UnreadableError) {
      return this.malformed(
        `a watch line of ${end - start} bytes at byte ${this.#offset} could not be read: ${slow.message}`,
      )
    }
    this.#event(slow.bytes, slow.start, slow.end)
  }

  #event(bytes: Buffer, start: number, end: number): void {
    const { type, object } = this.#scanner
    switch (type) {
      case WatchEventType.added:
      case WatchEventType.modified:
      case WatchEventType.deleted: {
        this.observed.action = type === WatchEventType.deleted ? 2 : 1
        this.observed.fromList = this.#listing
        const problem = this.report(bytes, start, end)
        if (problem !== undefined) return this.malformed(`${problem} at byte ${this.#offset}`)
        return this.#listing ? this.#listed(type) : undefined
      }
      case WatchEventType.bookmark: {
        const version = bytes.toString("utf8", object.resourceVersionStart, object.resourceVersionEnd)
        if (version === "") return this.malformed(`a bookmark without resourceVersion at byte ${this.#offset}`)
        if (!this.#listing) return this.events.bookmark(this.stream, version)
        // Any other bookmark before the end of the list is not reliable yet.
        if (!object.initialEventsEnd) return
        this.#listing = false
        this.#initial = undefined
        return this.events.initialEventsEnd(this.stream, version)
      }
      case WatchEventType.error: {
        this.live = false
        return this.events.errorEvent(this.stream, statusIn(bytes, start, end))
      }
      default:
        return this.malformed(`an event of an unknown type at byte ${this.#offset}`)
    }
  }

  #listed(type: WatchEventType): void {
    if (type !== WatchEventType.added) return
    this.#initial ??= new InitialObjects(this.serverTimeMs)
    this.#initial.added(this.observed)
  }
}

/** Only what can be a Status is parsed: a value of many MB would become many times that in memory. */
const statusIn = (bytes: Buffer, start: number, end: number): ApiStatus => {
  const isPlausible = end - start <= statusBytes
  const status = isPlausible ? readStatus(bytes.subarray(start, end)) : undefined
  const message = isPlausible
    ? "an ERROR event without a Status"
    : `an ERROR event of ${end - start} bytes, which is no Status`
  return status ?? plainStatus(500, "InternalError", message)
}
