import type { HttpStream, ResponseHandler, StreamEnd } from "../../../src/kube/http/transport.ts"

/** A handler that records its calls, and fails the test if anything comes after the end. */
export class RecordedResponse implements ResponseHandler {
  status = 0
  headers: ReadonlyMap<string, string> = new Map()
  readonly pieces: Buffer[] = []
  /** The buffers that contained the pieces. */
  readonly buffers = new Set<Buffer>()
  readonly calls: string[] = []
  readonly #end = Promise.withResolvers<StreamEnd>()
  readonly #head = Promise.withResolvers<void>()
  readonly #watched: Array<() => void> = []
  /** Called after a piece was recorded. */
  onData: ((total: number) => void) | undefined
  onHead: (() => void) | undefined
  #isOver = false
  length = 0

  get body(): string {
    return Buffer.concat(this.pieces).toString("latin1")
  }

  /** Settles with the end. */
  get ended(): Promise<StreamEnd> {
    return this.#end.promise
  }

  /** Settles with the head. */
  get begun(): Promise<void> {
    return this.#head.promise
  }

  /** Settles when at least `length` body bytes have arrived. */
  async received(length: number): Promise<void> {
    while (this.length < length) await new Promise<void>((resolve) => this.#watched.push(resolve))
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#call("head")
    this.status = status
    this.headers = headers
    this.#head.resolve()
    this.onHead?.()
  }

  data(buffer: Buffer, start: number, end: number): void {
    this.#call("data")
    if (end <= start) throw new Error("an empty piece was delivered")
    this.buffers.add(buffer)
    this.pieces.push(Buffer.from(buffer.subarray(start, end)))
    this.length += end - start
    for (const wake of this.#watched.splice(0)) wake()
    this.onData?.(this.length)
  }

  readDone(): void {
    this.#call("readDone")
  }

  end(outcome: StreamEnd): void {
    this.#call("end")
    this.#isOver = true
    this.#end.resolve(outcome)
  }

  #call(name: string): void {
    if (this.#isOver) throw new Error(`${name} was called after the end`)
    if (this.calls.at(-1) !== name) this.calls.push(name)
  }
}

/** Sends one request and waits for its end. */
export const fetched = async (
  client: { get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream },
  path = "/",
  headers: Readonly<Record<string, string>> = {},
): Promise<RecordedResponse & { outcome: StreamEnd }> => {
  const response = new RecordedResponse()
  client.get(path, headers, response)
  const outcome = await response.ended
  return Object.assign(response, { outcome })
}
