/**
 * Receives the bodies of requests, which are JSON, so that a client can send what it likes and no other request waits for it.
 *
 * A body that is announced as too large is rejected before it is read, and one that turns out to be too large without being kept. Each client may send
 * so many at once; beyond that, 429. What is rejected is still read, because a client that is writing when its connection is closed sees a broken pipe
 * instead of the response; but not for longer than {@link receiveMs}, and not more than {@link mostDiscardedBytes}.
 */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Clock } from "../../../clock.ts"
import type { ExportRefusal } from "./http-answer.ts"

/** Largest body in bytes, as in SimKube. */
export const maximumBodyBytes = 1024 * 1024

/** Bodies at once: they keep at most 16 MiB. */
const maximumBodies = 16

/** Of one client: an identity at an address. */
const maximumBodiesPerClient = 4

/** Bytes of a rejected body that are read and discarded. After that its connection is closed. */
export const mostDiscardedBytes = 16 * maximumBodyBytes

/** ms for a body to arrive. */
export const receiveMs = 30_000

/** `gone`: the client has disconnected, so there is no one to respond to. */
type RequestBody =
  | { readonly tag: "whole"; readonly text: string }
  | ({ readonly tag: "refused" } & ExportRefusal)
  | { readonly tag: "gone" }

const refused = (status: number, message: string): RequestBody => ({ tag: "refused", status, message })

const tooLarge = refused(413, `the body may have at most ${maximumBodyBytes} bytes`)

/** Decoded anyway, a name would contain other characters than were sent, and match nothing. */
const notText = refused(400, "the body is not UTF-8")

const late = refused(408, `the body did not arrive within ${receiveMs / 1000} s`)

const busy: RequestBody = {
  ...{ tag: "refused", status: 429, retryAfterSeconds: 1 },
  message: `too many requests are being received: ${maximumBodiesPerClient} of one client and ${maximumBodies} in all is the limit; try again`,
}

export class RequestBodies {
  readonly #clock: Clock
  /** The client of each body that is being received. */
  readonly #receiving = new Map<IncomingMessage, string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The body of a request, or what to respond. Never rejects. The response may get the header `Connection`.
   *
   * @param client whose share it costs
   */
  async receive(request: IncomingMessage, response: ServerResponse, client: string): Promise<RequestBody> {
    const own = [...this.#receiving.values()].filter((other) => other === client).length
    const isBusy = own >= maximumBodiesPerClient || this.#receiving.size >= maximumBodies
    if (isBusy || Number(request.headers["content-length"] ?? 0) > maximumBodyBytes) {
      this.discard(request, response)
      return isBusy ? busy : tooLarge
    }
    this.#receiving.set(request, client)
    try {
      if (awaitsContinue(request)) response.writeContinue()
      const body = await this.#within(receiveMs, read(request, response))
      // The rest of the request is not read, so its connection cannot be used for another one.
      if (body === undefined || body === unread) response.setHeader("Connection", "close")
      return body === unread ? tooLarge : (body ?? late)
    } finally {
      this.#receiving.delete(request)
    }
  }

  /** To be called before a response to a request whose body is of no interest. */
  discard(request: IncomingMessage, response: ServerResponse): void {
    const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers
    if (encoding === undefined && Number(length) === 0) return
    // A client that waits for our permission sends no body after a response.
    if (awaitsContinue(request)) return void response.setHeader("Connection", "close")
    void this.#within(receiveMs, discardAll(request)).then((isWhole) => {
      if (isWhole !== true) request.destroy()
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

const awaitsContinue = (request: IncomingMessage): boolean => /100-continue/i.test(request.headers.expect ?? "")

/** More than {@link mostDiscardedBytes} were sent. */
const unread = Symbol("unread")

/** Never rejects. */
const read = async (request: IncomingMessage, response: ServerResponse): Promise<RequestBody | typeof unread> => {
  const pieces: Array<Buffer> = []
  let isTooLarge = false
  const isWhole = await eachPiece(request, (piece, length) => {
    isTooLarge = length > maximumBodyBytes
    if (isTooLarge) pieces.length = 0
    else pieces.push(piece)
  })
  if (isWhole === undefined || response.destroyed) return { tag: "gone" }
  if (!isWhole) return unread
  if (isTooLarge) return tooLarge
  const body = Buffer.concat(pieces)
  return isUtf8(body) ? { tag: "whole", text: body.toString("utf8") } : notText
}

/** Returns whether all of it was read. Never rejects. */
const discardAll = async (request: IncomingMessage): Promise<boolean> =>
  (await eachPiece(request, () => undefined)) !== false

/** `length`: of this piece and all before. False after {@link mostDiscardedBytes}; `undefined` if the connection breaks, in no other way does it fail. */
const eachPiece = async (
  request: IncomingMessage,
  take: (piece: Buffer, length: number) => void,
): Promise<boolean | undefined> => {
  let length = 0
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > mostDiscardedBytes) return false
      take(piece, length)
    }
    return true
  } catch {
    return undefined
  }
}
