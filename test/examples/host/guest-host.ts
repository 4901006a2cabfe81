/**
 * An example guest whose every answer the test decides: it records what the guest asks for. Operations stay open until the test ends them.
 */
import { randomFillSync } from "node:crypto"
import { systemClock } from "../../../src/clock.ts"
import { type CompiledGuest, encodeGuestResponse, GuestInstance, type WatchRequest } from "../../../src/host/index.ts"

/** A request whose values and body are text, as those of the examples are. */
export interface TextRequest {
  readonly method: string
  readonly uri: string
  readonly headers: Readonly<Record<string, ReadonlyArray<string>>>
  readonly body: string
}

export interface Open<Operation> {
  readonly id: bigint
  readonly asked: Operation
}

export class GuestHost {
  readonly #guest: GuestInstance
  readonly #log: string[] = []
  readonly #requests = new Map<bigint, TextRequest>()
  readonly #watches = new Map<bigint, WatchRequest>()
  readonly #delays = new Map<bigint, bigint>()

  constructor(compiled: CompiledGuest, environment: Readonly<Record<string, string>> = {}) {
    this.#guest = new GuestInstance(compiled, {
      host: {
        watch: (id, request) => this.#watches.set(id, request),
        cancel: (id) => this.#watches.delete(id),
        request: (id, { method, uri, headers, body }) =>
          this.#requests.set(id, {
            method,
            uri,
            headers: Object.fromEntries([...headers].map(([name, values]) => [name, values.map(text)])),
            body: text(body),
          }),
        delay: (id, ms) => this.#delays.set(id, ms),
        log: (_stream, line) => this.#log.push(line),
      },
      env: Object.entries(environment).map(([name, value]) => ({ name, value })),
      clock: systemClock,
      random: (bytes) => void randomFillSync(bytes),
      maximumMemoryBytes: 256 * 1024 * 1024,
    })
    this.#enter(() => this.#guest.start())
  }

  /** Every line that the guest has written. */
  get log(): ReadonlyArray<string> {
    return this.#log
  }

  get requests(): ReadonlyArray<Open<TextRequest>> {
    return open(this.#requests)
  }

  get watches(): ReadonlyArray<Open<WatchRequest>> {
    return open(this.#watches)
  }

  /** Milliseconds. */
  get delays(): ReadonlyArray<Open<bigint>> {
    return open(this.#delays)
  }

  get memoryBytes(): number {
    return this.#guest.memoryBytes
  }

  /** Completes a request. A text is sent as it is, anything else as JSON. */
  answer(id: bigint, status: number, body: unknown): void {
    this.#requests.delete(id)
    const headers = new Map([["content-type", [Buffer.from("application/json")]]])
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
    this.#enter(() => this.#guest.wakeFuture(id, encodeGuestResponse({ status, headers, body: bytes })))
  }

  elapse(id: bigint): void {
    this.#delays.delete(id)
    this.#enter(() => this.#guest.wakeFuture(id, undefined))
  }

  /** Delivers one event of a watch. */
  deliver(id: bigint, type: string, object: object): void {
    this.deliverBytes(id, Buffer.from(JSON.stringify({ type, object })))
  }

  deliverBytes(id: bigint, bytes: Uint8Array): void {
    this.#enter(() => this.#guest.wakeStream(id, bytes))
  }

  end(id: bigint): void {
    this.#watches.delete(id)
    this.#enter(() => this.#guest.wakeStream(id, undefined))
  }

  #enter(call: () => void): void {
    try {
      call()
    } catch (cause) {
      throw new Error(`the guest has ended; its log: ${this.log.join("\n")}`, { cause })
    }
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true })
const text = (bytes: Uint8Array): string => decoder.decode(bytes)

const open = <Operation>(operations: ReadonlyMap<bigint, Operation>): ReadonlyArray<Open<Operation>> =>
  [...operations].map(([id, asked]) => ({ id, asked }))
