/**
 * Reads one response of the watch protocol: a watch, a streaming list, or one page of a list.
 *
 * Whatever the bytes are, the outcome is a call of {@link StreamEvents}; after {@link StreamReader.disown} there is none.
 */
import type { ResponseHandler, StreamEnd } from "../http/response-handler.ts"
import { parseResourceVersion, type ResourceVersion } from "../resource-version.ts"
import type { DetectRules } from "../scanner/detect-rules.ts"
import { LineSplitter } from "../scanner/line-splitter.ts"
import { ListScanner } from "../scanner/list-scanner.ts"
import { ObjectScanner } from "../scanner/object-scanner.ts"
import { readResourceVersion } from "../scanner/resource-version-digits.ts"
import type { ScannedObject } from "../scanner/scanned-object.ts"
import { scanObjectSlowly, scanWatchLineSlowly, UnreadableError } from "../scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner } from "../scanner/watch-line.ts"
import { type ApiStatus, readStatus, statusOfResponse } from "../status.ts"
import type { StreamId, StreamOutcome } from "./protocol.ts"
import type { ObservedAction } from "./sink.ts"

/** What a stream says, to its session. */
export interface StreamEvents {
  /** 200; `serverTimeMs`: the server's clock, ms since the Unix epoch; `undefined` if it does not tell. */
  opened(stream: StreamId, serverTimeMs: number | undefined): void
  refused(stream: StreamId, status: ApiStatus): void
  firstBytes(stream: StreamId): void
  object(
    action: ObservedAction,
    fromList: boolean,
    version: ResourceVersion | string,
    bytes: Buffer,
    start: number,
    end: number,
    object: ScannedObject,
  ): void
  bookmark(stream: StreamId, version: string): void
  initialEventsEnd(stream: StreamId, version: string): void
  pageComplete(stream: StreamId, version: string, continueToken: string | undefined): void
  errorEvent(stream: StreamId, status: ApiStatus): void
  malformedLine(stream: StreamId, description: string): void
  slowLine(): void
  /** One network read is through; its body bytes. */
  readDone(bytes: number): void
  ended(stream: StreamId, outcome: StreamOutcome): void
}

/** Bytes kept of a refusal's body: a Status takes some hundred, an HTML page of a proxy is worth no more. */
const refusalBytes = 64 * 1024

/** What watches and pages share: the head, refusals, and the end. */
export abstract class StreamReader implements ResponseHandler {
  protected readonly stream: StreamId
  protected readonly events: StreamEvents
  protected live = true
  #status = 0
  #headers: ReadonlyMap<string, string> = new Map()
  readonly #refusal: Array<Buffer> = []
  #refusalLength = 0
  #hasBytes = false
  /** Body bytes of the present network read; each event of a watch is a chunk of its own. */
  #readBytes = 0

  constructor(stream: StreamId, events: StreamEvents) {
    this.stream = stream
    this.events = events
  }

  /** The session has closed the stream: nothing of it is reported any more, not even the rest of the present read. */
  disown(): void {
    this.live = false
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status
    this.#headers = headers
    if (this.live && status === 200) this.events.opened(this.stream, timeOf(headers.get("date")))
  }

  data(buffer: Buffer, start: number, end: number): void {
    if (!this.live) return
    if (this.#status !== 200) {
      if (this.#refusalLength < refusalBytes) this.#refusal.push(Buffer.from(buffer.subarray(start, end)))
      this.#refusalLength += end - start
      return
    }
    if (!this.#hasBytes) {
      this.#hasBytes = true
      this.events.firstBytes(this.stream)
    }
    this.#readBytes += end - start
    this.body(buffer, start, end)
  }

  readDone(): void {
    if (!this.live) return
    this.events.readDone(this.#readBytes)
    this.#readBytes = 0
  }

  end(outcome: StreamEnd): void {
    if (!this.live) return
    if (this.#status !== 0 && this.#status !== 200) {
      this.live = false
      this.events.refused(this.stream, statusOfResponse(this.#status, this.#headers, Buffer.concat(this.#refusal)))
      return
    }
    if (outcome.tag === "complete" && this.#status === 200) this.complete()
    if (!this.live) return
    this.live = false
    this.events.ended(this.stream, { tag: outcome.tag, description: describeEnd(outcome, this.pending) })
  }

  protected abstract body(buffer: Buffer, start: number, end: number): void
  /** The whole body has come. May report and give the stream up. */
  protected complete(): void {
    // A watch ends when the server likes; only a page has an end of its own to check.
  }
  /** Bytes of an unfinished line or item. */
  protected abstract readonly pending: number

  protected malformed(description: string): void {
    if (!this.live) return
    this.live = false
    this.events.malformedLine(this.stream, description)
  }
}

/** A watch; with `streamingList` the synthetic events before the end bookmark are a list. */
export class WatchReader extends StreamReader {
  readonly #scanner: WatchLineScanner
  readonly #splitter: LineSplitter
  #listing: boolean
  /** Body bytes before the present line and behind it, for messages. */
  #offset = 0
  #nextOffset = 0

  constructor(stream: StreamId, events: StreamEvents, rules: DetectRules, streamingList: boolean) {
    super(stream, events)
    this.#scanner = new WatchLineScanner(rules)
    this.#listing = streamingList
    this.#splitter = new LineSplitter((bytes, start, end) => this.#line(bytes, start, end))
  }

  protected override get pending(): number {
    return this.#splitter.pendingBytes
  }

  protected override body(buffer: Buffer, start: number, end: number): void {
    try {
      this.#splitter.push(buffer, start, end)
    } catch (cause) {
      if (!isTagged(cause, "TooLongError")) throw cause
      this.malformed(`${cause.message}, after ${this.#offset} bytes`)
    }
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (!this.live) return
    const scanner = this.#scanner
    this.#offset = this.#nextOffset
    this.#nextOffset += end - start + 1
    if (scanner.scan(bytes, start, end)) {
      this.#event(scanner.type, bytes, scanner.objectStart, scanner.objectEnd, scanner.object)
      return
    }
    this.events.slowLine()
    const slow = scanWatchLineSlowly(scanner, bytes, start, end)
    if (slow instanceof UnreadableError) {
      return this.malformed(
        `a watch line of ${end - start} bytes at byte ${this.#offset} could not be read: ${slow.message}`,
      )
    }
    this.#event(scanner.type, slow.bytes, slow.start, slow.end, scanner.object)
  }

  #event(type: number, bytes: Buffer, start: number, end: number, object: ScannedObject): void {
    switch (type) {
      case WatchEventType.added:
      case WatchEventType.modified:
      case WatchEventType.deleted: {
        const version = versionOf(bytes, object)
        if (object.uidEnd === object.uidStart || version === undefined) {
          return this.malformed(`an object without uid or resourceVersion at byte ${this.#offset}`)
        }
        const action = type === WatchEventType.deleted ? 2 : 1
        return this.events.object(action, this.#listing, version, bytes, start, end, object)
      }
      case WatchEventType.bookmark: {
        const version = bytes.toString("utf8", object.resourceVersionStart, object.resourceVersionEnd)
        if (version === "") return this.malformed(`a bookmark without resourceVersion at byte ${this.#offset}`)
        if (!this.#listing) return this.events.bookmark(this.stream, version)
        // Another bookmark before the end of the list says nothing that could be relied on yet.
        if (!object.initialEventsEnd) return
        this.#listing = false
        return this.events.initialEventsEnd(this.stream, version)
      }
      case WatchEventType.error: {
        this.live = false
        const status = readStatus(bytes.subarray(start, end))
        const fallback = {
          code: 500,
          reason: "InternalError",
          message: "an ERROR event without a Status",
          causes: [],
          retryAfterSeconds: undefined,
        }
        return this.events.errorEvent(this.stream, status ?? fallback)
      }
      default:
        return this.malformed(`an event of an unknown type at byte ${this.#offset}`)
    }
  }
}

/** One page of a list, scanned as it comes in: items are reported before the response ends. */
export class PageReader extends StreamReader {
  readonly #scanner: ObjectScanner
  readonly #list: ListScanner

  constructor(stream: StreamId, events: StreamEvents, rules: DetectRules) {
    super(stream, events)
    this.#scanner = new ObjectScanner(rules)
    this.#list = new ListScanner((bytes, start, end) => this.#item(bytes, start, end))
  }

  protected override get pending(): number {
    return 0
  }

  protected override body(buffer: Buffer, start: number, end: number): void {
    try {
      this.#list.push(buffer, start, end)
    } catch (cause) {
      if (!isTagged(cause, "ListSyntaxError") && !isTagged(cause, "TooLongError")) throw cause
      this.malformed(cause.message)
    }
  }

  protected override complete(): void {
    if (!this.#list.isComplete) return this.malformed("the list ends before its closing brace")
    const { resourceVersion, continueToken } = this.#list.head
    if (resourceVersion === "") {
      return this.malformed("the list has no metadata.resourceVersion")
    }
    this.live = false
    this.events.pageComplete(this.stream, resourceVersion, continueToken === "" ? undefined : continueToken)
  }

  #item(bytes: Buffer, start: number, end: number): void {
    if (!this.live) return
    if (this.#scanner.scan(bytes, start, end)) return this.#object(bytes, start, end, this.#scanner)
    this.events.slowLine()
    const slow = scanObjectSlowly(this.#scanner, bytes, start, end)
    if (slow instanceof UnreadableError) {
      return this.malformed(`item ${this.#list.items} of a list could not be read: ${slow.message}`)
    }
    this.#object(slow.bytes, slow.start, slow.end, this.#scanner)
  }

  #object(bytes: Buffer, start: number, end: number, object: ScannedObject): void {
    const version = versionOf(bytes, object)
    if (object.uidEnd === object.uidStart || version === undefined) {
      return this.malformed(`item ${this.#list.items} of a list has no uid or resourceVersion`)
    }
    this.events.object(1, true, version, bytes, start, end, object)
  }
}

/** An integer where it is one (the hot path makes no string then), otherwise the text. */
const versionOf = (bytes: Buffer, object: ScannedObject): ResourceVersion | string | undefined => {
  const { resourceVersionStart, resourceVersionEnd } = object
  if (resourceVersionEnd === resourceVersionStart) return undefined
  const digits = readResourceVersion(bytes, resourceVersionStart, resourceVersionEnd)
  if (digits !== undefined) return digits
  const text = bytes.toString("utf8", resourceVersionStart, resourceVersionEnd)
  return parseResourceVersion(text) ?? text
}

const describeEnd = (outcome: StreamEnd, pending: number): string => {
  const cut = pending > 0 ? `, ${pending} bytes of a line were cut off` : ""
  switch (outcome.tag) {
    case "complete":
      return `the server ended the response${cut}`
    case "truncated":
      return `the server hung up${cut}`
    case "aborted":
      return "closed by us"
    case "connection":
      return `${outcome.message} (${outcome.code})${cut}`
    case "malformed":
    case "timeout":
      return `${outcome.message}${cut}`
  }
}

const timeOf = (date: string | undefined): number | undefined => {
  const time = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(time) ? undefined : time
}

const isTagged = (cause: unknown, tag: string): cause is Error & { readonly _tag: string } =>
  cause instanceof Error && "_tag" in cause && cause._tag === tag
