/**
 * The common part of the readers of single responses: head, refusals, end. The outcome is a call of {@link
 * StreamEvents}; after {@link StreamReader.disown} there is none.
 */

import { printable } from "../../http/response-parser.ts"
import { describeLost, type ResponseHandler, type StreamEnd } from "../../http/transport.ts"
import { apiVersionOf } from "../../kinds/gvk.ts"
import { parseResourceVersion, type ResourceVersion } from "../../resource-version.ts"
import type { DetectRules } from "../../scanner/object/detect-rules.ts"
import type { ScannedObject } from "../../scanner/object/scanned-object.ts"
import { type ApiStatus, statusOfResponse } from "../../status.ts"
import { ObservedObject } from "../liveness/observed-object.ts"
import type { StreamId, StreamOutcome } from "../protocol/protocol.ts"

// Reads resource versions directly from the bytes of an object.

/**
 * The version whose digits are at [start, end), equal to what {@link parseResourceVersion} returns for the text. Up to 15 digits, which
 * covers every version that etcd has reached anywhere, it creates no string. `undefined`: the version is opaque.
 */
export const readResourceVersion = (bytes: Buffer, start: number, end: number): ResourceVersion | undefined => {
  const length = end - start
  if (length > 15) return length > 20 ? undefined : parseResourceVersion(bytes.toString("latin1", start, end))
  if (length <= 0) return undefined
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 48
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}

/** The events of a stream, for its session. */
export interface StreamEvents {
  /** 200; `serverTimeMs`: the server's clock, ms since the Unix epoch; `undefined` if it sends none. */
  opened(stream: StreamId, serverTimeMs: number | undefined): void
  refused(stream: StreamId, status: ApiStatus): void
  /** A network read with body bytes begins. */
  readBegins(): void
  firstBytes(stream: StreamId): void
  /** The record belongs to the reader, which refills it for the next object. The session adds its timing. */
  object(object: ObservedObject): void
  bookmark(stream: StreamId, version: string): void
  initialEventsEnd(stream: StreamId, version: string): void
  /** A streaming list has brought something that is no initial object: its end is due. Each time. */
  changesBegin(stream: StreamId): void
  /** What a streaming list has brought is neither the next initial object nor a change. */
  outOfOrder(stream: StreamId): void
  pageComplete(stream: StreamId, version: string, continueToken: string | undefined): void
  errorEvent(stream: StreamId, status: ApiStatus): void
  malformedLine(stream: StreamId, description: string): void
  slowLine(): void
  /** One network read has been processed; `bytes`: its body bytes. */
  readDone(bytes: number): void
  ended(stream: StreamId, outcome: StreamOutcome): void
}

/** Bytes that are read of a Status: it takes a few hundred, and an HTML page of a proxy needs no more. */
export const statusBytes = 64 * 1024

/** Reads one response; watch-reader.ts and page-reader.ts interpret its body. */
export abstract class StreamReader implements ResponseHandler {
  protected readonly stream: StreamId
  protected readonly events: StreamEvents
  protected readonly observed: ObservedObject
  protected live = true
  /** The server's clock when it began to respond, ms since the Unix epoch; `undefined` if it sends none. */
  protected serverTimeMs: number | undefined
  #status = 0
  #headers: ReadonlyMap<string, string> = new Map()
  readonly #refusal: Array<Buffer> = []
  #refusalLength = 0
  #hasBytes = false
  /** Body bytes of the present network read; each event of a watch is a separate chunk. */
  #readBytes = 0

  readonly #kind: Buffer
  readonly #apiVersion: Buffer

  /** `scanned`: the object into which the subclass's scanner writes its results. */
  constructor(stream: StreamId, events: StreamEvents, { gvk }: DetectRules, scanned: ScannedObject) {
    this.#kind = Buffer.from(gvk.kind)
    this.#apiVersion = Buffer.from(apiVersionOf(gvk))
    this.stream = stream
    this.events = events
    this.observed = new ObservedObject(scanned)
  }

  /** The session has closed the stream: nothing more is reported, not even the rest of the present read. */
  disown(): void {
    this.live = false
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status
    this.#headers = headers
    if (!this.live || status !== 200) return
    const coding = headers.get("content-encoding")?.toLowerCase()
    if (coding !== undefined && coding !== "identity")
      return this.malformed(`the response has the content coding "${printable(coding)}", which was not requested`)
    this.serverTimeMs = timeOf(headers.get("date"))
    this.events.opened(this.stream, this.serverTimeMs)
  }

  data(buffer: Buffer, start: number, end: number): void {
    if (!this.live) return
    if (this.#status !== 200) {
      if (this.#refusalLength < statusBytes) this.#refusal.push(Buffer.from(buffer.subarray(start, end)))
      this.#refusalLength += end - start
      return
    }
    if (this.#readBytes === 0) this.events.readBegins()
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
    const { pending } = this
    // Not earlier: a stream may be closed while one of its objects is being read, and `end` never comes during `data`.
    this.release()
    if (!this.live) return
    if (this.#status !== 0 && this.#status !== 200) {
      this.live = false
      this.events.refused(this.stream, statusOfResponse(this.#status, this.#headers, Buffer.concat(this.#refusal)))
      return
    }
    if (outcome.tag === "complete" && this.#status === 200) this.complete()
    if (!this.live) return
    this.live = false
    this.events.ended(this.stream, { tag: outcome.tag, description: describeEnd(outcome, pending) })
  }

  protected abstract body(buffer: Buffer, start: number, end: number): void
  /** The whole body has arrived. May report and end the stream. */
  protected complete(): void {
    // The server may end a watch at any time; only a page has an end to check.
  }
  /** Bytes of an unfinished line or item. */
  protected abstract readonly pending: number
  /** Gives back the memory of an unfinished line or item. */
  protected abstract release(): void

  /**
   * Reports the object scanned last, which is `bytes[start, end)`. If it has no UID or version, or is of another kind, reports nothing and
   * returns why.
   */
  protected report(bytes: Buffer, start: number, end: number): string | undefined {
    const { observed } = this
    const { scanned } = observed
    const version = versionOf(bytes, scanned)
    if (scanned.uidEnd === scanned.uidStart || version === undefined) return "an object without uid or resourceVersion"
    // A list's items omit both. An object of another kind would be recorded under this one's name, with this one's rights to read it.
    if (
      !isAbsentOr(this.#kind, bytes, scanned.kindStart, scanned.kindEnd) ||
      !isAbsentOr(this.#apiVersion, bytes, scanned.apiVersionStart, scanned.apiVersionEnd)
    )
      return `an object of another kind than ${this.#apiVersion}.${this.#kind}`
    observed.version = version
    observed.bytes = bytes
    observed.start = start
    observed.end = end
    this.events.object(observed)
    return undefined
  }

  protected malformed(description: string): void {
    if (!this.live) return
    this.live = false
    this.events.malformedLine(this.stream, description)
  }
}

/** Whether a member is absent or has this text. The hot path; no allocation. */
const isAbsentOr = (expected: Buffer, bytes: Buffer, start: number, end: number): boolean => {
  if (end === start) return true
  if (end - start !== expected.length) return false
  for (let at = 0; at < expected.length; at++) if (bytes[start + at] !== expected[at]) return false
  return true
}

/** A number if the version is an integer (the hot path then creates no string), otherwise the text. */
const versionOf = (bytes: Buffer, object: ScannedObject): ResourceVersion | string | undefined => {
  const { resourceVersionStart, resourceVersionEnd } = object
  if (resourceVersionEnd === resourceVersionStart) return undefined
  const digits = readResourceVersion(bytes, resourceVersionStart, resourceVersionEnd)
  if (digits !== undefined) return digits
  const text = bytes.toString("utf8", resourceVersionStart, resourceVersionEnd)
  return parseResourceVersion(text) ?? text
}

const describeEnd = (outcome: StreamEnd, pending: number): string => {
  const cut = pending > 0 ? `, ${pending} bytes of a line were truncated` : ""
  switch (outcome.tag) {
    case "complete":
      return `the server ended the response${cut}`
    case "truncated":
      return `the server closed the connection${cut}`
    case "aborted":
      return "closed by this client"
    case "connection":
      return `${describeLost(outcome)}${cut}`
    case "malformed":
    case "timeout":
      return `${outcome.message}${cut}`
  }
}

const timeOf = (date: string | undefined): number | undefined => {
  const time = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(time) ? undefined : time
}
