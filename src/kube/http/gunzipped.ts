/**
 * Responses that the server may compress with gzip, handed over piece by piece in bounded memory: at most 64 KiB of
 * input and two pieces of output wait here. Data that stops early is `truncated`; data that is not gzip, and other
 * codings, are `malformed`.
 */
import { createGunzip, type Gunzip } from "node:zlib"
import { freeNow } from "../../free-now.ts"
import { messageOf } from "../../message-of.ts"
import { printable } from "./response-parser.ts"
import type { HttpStream, ReadTransport, ResponseHandler, StreamEnd } from "./transport.ts"

/** Bytes of one piece. zlib's default of 16 KiB costs a trip through the thread pool four times as often. */
const pieceBytes = 64 * 1024

/** As {@link ReadTransport.get}, and the server may compress the body. */
export const getGunzipped = (
  transport: ReadTransport,
  path: string,
  headers: Readonly<Record<string, string>>,
  handler: ResponseHandler,
): HttpStream => {
  const response = new GunzippedResponse(handler)
  response.http = transport.get(path, { ...headers, "Accept-Encoding": "gzip" }, response)
  return response
}

class GunzippedResponse implements ResponseHandler, HttpStream {
  /** Set before the first event. */
  declare http: HttpStream
  readonly #handler: ResponseHandler
  /** `undefined`: the response is not compressed. */
  #gunzip: Gunzip | undefined
  /** How the request ended, while the rest of its response is still being decompressed. */
  #outcome: StreamEnd | undefined
  /** Why the response was given up here. */
  #problem: string | undefined
  #isPaused = false
  #isAborted = false
  #hasEnded = false

  constructor(handler: ResponseHandler) {
    this.#handler = handler
  }

  get bytesReceived(): number {
    return this.http.bytesReceived
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    const coding = headers.get("content-encoding")?.toLowerCase() ?? ""
    if (coding === "gzip" || coding === "x-gzip") {
      this.#gunzip = this.#decompress()
      return this.#handler.head(status, new Map([...headers].filter(([name]) => name !== "content-encoding")))
    }
    if (coding !== "" && coding !== "identity")
      return this.#giveUp(`content coding "${printable(coding)}" was not requested`)
    this.#handler.head(status, headers)
  }

  data(buffer: Buffer, start: number, end: number): void {
    const gunzip = this.#gunzip
    if (gunzip === undefined) return this.#handler.data(buffer, start, end)
    // A copy, because it is decompressed in another thread while the read buffer is used again.
    if (!gunzip.write(Buffer.from(buffer.subarray(start, end)))) this.http.pause()
  }

  readDone(): void {
    if (this.#gunzip === undefined) this.#handler.readDone?.()
  }

  end(outcome: StreamEnd): void {
    if (this.#problem !== undefined) return this.#ended({ tag: "malformed", message: this.#problem })
    if (this.#gunzip === undefined || outcome.tag === "aborted") return this.#ended(outcome)
    this.#outcome = outcome
    this.#gunzip.end()
  }

  pause(): void {
    this.#isPaused = true
    this.#gunzip?.pause()
    this.http.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#gunzip?.resume()
    if (this.#gunzip?.writableNeedDrain !== true) this.http.resume()
  }

  abort(): void {
    if (this.#hasEnded || this.#isAborted) return
    this.#isAborted = true
    this.#gunzip?.destroy()
    // A request that is over does not report that it was aborted.
    if (this.#outcome === undefined) this.http.abort()
    else queueMicrotask(() => this.#ended({ tag: "aborted" }))
  }

  #decompress(): Gunzip {
    const gunzip = createGunzip({ chunkSize: pieceBytes })
    gunzip.on("data", (piece: Buffer) => {
      this.#handler.data(piece, 0, piece.length)
      if (!this.#isAborted) this.#handler.readDone?.()
      // zlib has filled this one to its end and continues with another.
      if (piece.byteOffset + piece.length === pieceBytes && piece.buffer.byteLength === pieceBytes) freeNow(piece)
    })
    gunzip.on("drain", () => {
      if (!this.#isPaused) this.http.resume()
    })
    gunzip.on("end", () => {
      if (this.#outcome === undefined) this.#giveUp("other bytes follow its compressed data")
      else this.#ended(this.#outcome)
    })
    gunzip.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#outcome === undefined) return this.#giveUp(`its compressed data cannot be read: ${messageOf(error)}`)
      const isCut = error.code === "Z_BUF_ERROR"
      if (!isCut) this.#ended({ tag: "malformed", message: `its compressed data cannot be read: ${messageOf(error)}` })
      else this.#ended(this.#outcome.tag === "complete" ? { tag: "truncated" } : this.#outcome)
    })
    return gunzip
  }

  /** Nothing more of the response is of use: closes the connection, whose end is then reported as `malformed`. */
  #giveUp(problem: string): void {
    this.#problem = problem
    this.#gunzip?.destroy()
    this.http.abort()
  }

  #ended(outcome: StreamEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#gunzip?.destroy()
    this.#handler.end(outcome)
  }
}
