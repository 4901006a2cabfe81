/** Reads a watch or a streaming list, line by line. */
import { compareResourceVersions, type ResourceVersion } from "../../resource-version.ts"
import { isLineTooLarge, type LineBudget, LineSplitter } from "../../scanner/line-splitter.ts"

import type { DetectRules } from "../../scanner/object/detect-rules.ts"
import { scanWatchLineSlowly, UnreadableError } from "../../scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner } from "../../scanner/watch-line.ts"
import { type ApiStatus, plainStatus, readStatus } from "../../status.ts"
import type { ObservedObject } from "../liveness/observed-object.ts"
import { createdSeconds } from "../liveness/written-time.ts"
import type { StreamId } from "../protocol/protocol.ts"
import { type StreamEvents, StreamReader, statusBytes } from "./stream-reader.ts"

// Tells where the initial objects of a streaming list end, from the order of events, while its end bookmark has not come.
//
// kube-apiserver sends the initial objects in the order of their keys, `namespace/name`. Changes that it receives before it may send the end bookmark
// follow, each of a higher version than all before. A server that does not know `sendInitialEvents` continues with changes in the same form and for
// ever; and if it sends what it has in another order, an object soon comes that is neither the next by key nor a change.

type Place = "initial" | "change" | "out of order"

class InitialOrder {
  /** The key of the last initial object. A longer one than fits, which Kubernetes refuses, is compared as far as it fits. */
  #key = Buffer.alloc(keyBytes)
  #keyLength = 0
  #other = Buffer.alloc(keyBytes)
  #highest: ResourceVersion = 0
  /** The server's clock when it began to respond, s since the Unix epoch; `undefined` if it sends none. */
  readonly #begun: number | undefined

  constructor(begunMs: number | undefined) {
    this.#begun = begunMs === undefined ? undefined : Math.floor(begunMs / 1000)
  }

  placeOf(object: Readonly<ObservedObject>, isAdded: boolean): Place {
    const isNext = isAdded && this.#isNext(object)
    const { version } = object
    // Opaque versions have no order.
    if (typeof version === "string") return isNext ? "initial" : "change"
    if (compareResourceVersions(version, this.#highest) <= 0) return isNext ? "initial" : "out of order"
    this.#highest = version
    return isNext && !this.#isNew(object) ? "initial" : "change"
  }

  /** Whether it was created after the server had begun to respond: names that count upwards are in the order of keys too. */
  #isNew(object: Readonly<ObservedObject>): boolean {
    return this.#begun !== undefined && createdSeconds(object) > this.#begun
  }

  #isNext({ bytes, scanned }: Readonly<ObservedObject>): boolean {
    const { namespaceStart, namespaceEnd, nameStart, nameEnd } = scanned
    let length = bytes.copy(this.#other, 0, namespaceStart, namespaceEnd)
    if (length > 0) length += this.#other.write("/", length)
    length += bytes.copy(this.#other, length, nameStart, nameEnd)
    if (this.#other.compare(this.#key, 0, this.#keyLength, 0, length) <= 0) return false
    const free = this.#key
    this.#key = this.#other
    this.#keyLength = length
    this.#other = free
    return true
  }
}

/** Namespaces have at most 63 characters, names 253. */
const keyBytes = 512

/** A watch; with `streamingList` the synthetic events before the end bookmark are a list. */
export class WatchReader extends StreamReader {
  readonly #scanner: WatchLineScanner
  readonly #splitter: LineSplitter
  #listing: boolean
  /** While {@link #listing}. */
  #order: InitialOrder | undefined
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
        // Any other bookmark before the end of the list is not reliable yet, and no initial object follows it.
        if (!object.initialEventsEnd) return this.events.changesBegin(this.stream)
        this.#listing = false
        this.#order = undefined
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
    if (!this.live) return
    this.#order ??= new InitialOrder(this.serverTimeMs)
    const place = this.#order.placeOf(this.observed, type === WatchEventType.added)
    if (place === "change") this.events.changesBegin(this.stream)
    else if (place === "out of order") this.events.outOfOrder(this.stream)
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
