/**
 * Receives the bodies of requests, which are JSON, so that a client can send what it likes and no other request waits for it.
 *
 * - A body that is announced as too large is rejected before it is read; one that turns out to be too large, or has more values than any export
 *   request, is rejected without being parsed or kept.
 * - Each client has a share of the thread and a number of bodies at once ({@link BodyShares}); beyond it, 429.
 * - What is rejected is still read, at the pace of the client's share, because a client that is writing when its connection is closed sees a
 *   broken pipe instead of the response; but for {@link receiveMs} and {@link mostDiscardedBytes} at most, and not what exceeds the number of bodies.
 */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Clock } from "../../../clock.ts"
import { type BodyPlace, BodyShares, maximumBodies, maximumBodiesPerClient } from "./body-shares.ts"
import { clientGone, type ExportRefusal } from "./http-answer.ts"

/** Largest body in bytes, as in SimKube. */
export const maximumBodyBytes = 1024 * 1024

/**
 * Values of a body, keys of objects excluded. The largest filters have 10,000 entries, and label selectors of 32,768 characters with some 8,000
 * values.
 */
export const maximumBodyValues = 20_000

/** Arrays and objects in one another; an export request has seven. */
export const maximumBodyDepth = 32

/** Bytes of a rejected body that are read and discarded. After that its connection is closed. */
export const mostDiscardedBytes = 16 * maximumBodyBytes

/** ms for a body to arrive. At the pace of a full share, four bodies take 5 s. */
export const receiveMs = 30_000

/** What a request costs besides its bytes, expressed in them: 512 requests/s of one client. */
const requestBytes = 8 * 1024

/** Parsing a byte costs as much as reading four, up to the limit of values. */
const parsingFactor = 4

/** `gone`: the client has disconnected, so no response can be sent. */
type RequestBody =
  | { readonly tag: "whole"; readonly text: string }
  | ({ readonly tag: "refused" } & ExportRefusal)
  | { readonly tag: "gone" }

const refused = (status: number, message: string): RequestBody => ({ tag: "refused", status, message })

const tooLarge = refused(413, `the body may have at most ${maximumBodyBytes} bytes`)

const tooMany = refused(
  400,
  `the body has more than ${maximumBodyValues} values; the largest filters that are allowed have fewer`,
)

const tooDeep = refused(400, `the body has more than ${maximumBodyDepth} arrays and objects in one another`)

/** Decoded anyway, a name would contain other characters than were sent, and match nothing. */
const notText = refused(400, "the body is not UTF-8")

const late = refused(408, `the body did not arrive within ${receiveMs / 1000} s`)

const busy: RequestBody = {
  ...{ tag: "refused", status: 429, retryAfterSeconds: 1 },
  message: `too many requests are being received: ${maximumBodiesPerClient} of one client and ${maximumBodies} in all is the limit; try again`,
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Counts the values of a JSON text while its bytes arrive, about 1 ms for a mebibyte.
 *
 * Parsing costs the main thread by the value, not by the byte: a mebibyte of numbers took 25 ms, and one of nested arrays 180 ms, while one
 * string takes less than 1 ms. A text that has too many values, or too deep ones, is known before any of it is parsed.
 */
export class ValueCount {
  #isInString = false
  /** The last byte was a backslash in a string, which may be the last of a piece. */
  #isEscaped = false
  #depth = 0
  /** At least the number of values so far; more by one for each empty array or object. */
  values = 1
  /** How many arrays and objects were open at once, at most. */
  deepest = 0

  /** The next bytes, cut anywhere. Never throws: what is not JSON has some count, too. */
  add(bytes: Uint8Array): void {
    let isInString = this.#isInString
    let isEscaped = this.#isEscaped
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index]
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === backslash) isEscaped = true
        else if (byte === quote) isInString = false
      } else if (byte === quote) isInString = true
      else if (byte === comma) this.values++
      else if (byte === openBracket || byte === openBrace) {
        this.values++
        this.deepest = Math.max(this.deepest, ++this.#depth)
      } else if (byte === closeBracket || byte === closeBrace) this.#depth--
    }
    this.#isInString = isInString
    this.#isEscaped = isEscaped
  }
}

export class RequestBodies {
  readonly #clock: Clock
  readonly #received: BodyShares
  /** Of requests without permission, which take nothing from the others. */
  readonly #unwanted: BodyShares

  constructor(clock: Clock) {
    this.#clock = clock
    this.#received = new BodyShares(clock)
    this.#unwanted = new BodyShares(clock)
  }

  /**
   * The body of a request, or what to respond. Never rejects. The response may get the header `Connection`.
   *
   * @param client whose share it costs
   */
  async receive(request: IncomingMessage, response: ServerResponse, client: string): Promise<RequestBody> {
    const place = this.#received.enter(client)
    if (place === undefined || Number(request.headers["content-length"] ?? 0) > maximumBodyBytes) {
      this.#discard(request, response, place)
      return place === undefined ? busy : tooLarge
    }
    try {
      if (awaitsContinue(request)) response.writeContinue()
      const body = await this.#within(receiveMs, read(request, response, place))
      // The rest of the request is not read, so its connection cannot be used for another one.
      if (body === undefined || body === unread) response.setHeader("Connection", "close")
      return body === unread ? tooLarge : (body ?? late)
    } finally {
      place.leave()
    }
  }

  /** To be called before a response to a request whose body is of no interest. */
  discard(request: IncomingMessage, response: ServerResponse, client: string): void {
    const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers
    if (encoding === undefined && Number(length) === 0) return
    this.#discard(request, response, this.#unwanted.enter(client))
  }

  /** Without a place, the connection is closed after the response. */
  #discard(request: IncomingMessage, response: ServerResponse, place: BodyPlace | undefined): void {
    // A client that waits for our permission sends no body after a response.
    if (place === undefined || awaitsContinue(request)) {
      place?.leave()
      response.setHeader("Connection", "close")
      return
    }
    const all = eachPiece(request, response, place, () => undefined)
    void this.#within(receiveMs, all).then((end) => {
      place.leave()
      if (end === undefined || end === unread) request.destroy()
    })
  }

  /** `undefined` if it takes longer. */
  async #within<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
    const { promise: expired, resolve } = Promise.withResolvers<undefined>()
    const timer = this.#clock.after(ms, () => resolve(undefined))
    try {
      return await Promise.race([promise, expired])
    } finally {
      timer.cancel()
    }
  }
}

/** Whether the client sends the body only when it is asked to. */
export const awaitsContinue = (request: IncomingMessage): boolean => /100-continue/i.test(request.headers.expect ?? "")

/** More than {@link mostDiscardedBytes} were sent. */
const unread = Symbol("unread")

/** Never rejects. */
const read = async (
  request: IncomingMessage,
  response: ServerResponse,
  place: BodyPlace,
): Promise<RequestBody | typeof unread> => {
  const pieces: Array<Buffer> = []
  const count = new ValueCount()
  let fault: RequestBody | undefined
  await place.turn(requestBytes, clientGone(response))
  const end = await eachPiece(request, response, place, (piece, length) => {
    if (fault !== undefined) return
    count.add(piece)
    fault = faultOf(length, count)
    if (fault === undefined) pieces.push(piece)
    else pieces.length = 0
  })
  if (end === unread) return unread
  if (fault === undefined && end !== "gone") await place.turn(parsingFactor * end, clientGone(response))
  if (end === "gone" || response.destroyed) return { tag: "gone" }
  if (fault !== undefined) return fault
  const body = Buffer.concat(pieces)
  return isUtf8(body) ? { tag: "whole", text: body.toString("utf8") } : notText
}

const faultOf = (length: number, { values, deepest }: ValueCount): RequestBody | undefined => {
  if (length > maximumBodyBytes) return tooLarge
  if (values > maximumBodyValues) return tooMany
  return deepest > maximumBodyDepth ? tooDeep : undefined
}

/**
 * Reads slice by slice: no more than 128 KiB arrive before the turn of the next. `length`: of this piece and all before; that of all is returned. The
 * connection may break, in no other way does it fail.
 */
const eachPiece = async (
  request: IncomingMessage,
  response: ServerResponse,
  place: BodyPlace,
  take: (piece: Buffer, length: number) => void,
): Promise<number | "gone" | typeof unread> => {
  const gone = clientGone(response)
  let length = 0
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > mostDiscardedBytes) return unread
      await place.turn(piece.length, gone)
      take(piece, length)
    }
    return length
  } catch {
    return "gone"
  }
}
