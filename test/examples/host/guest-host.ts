/**
 * The smallest host of ABI `rust_v1alpha1`, for tests of the example guests: it records what a guest asks for, and the test decides what
 * becomes of it. Operations stay open until the test ends them.
 */
import { eventOf, type GuestRequest, readRequest, readWatch, type WatchRequest, writeResponse } from "./abi-values.ts"
import { type Wasi, wasi } from "./wasi.ts"

/** The exports of a guest. */
interface Exports {
  readonly memory: WebAssembly.Memory
  readonly _initialize?: () => void
  readonly run: () => void
  readonly allocate: (size: number) => number
  readonly wakeup_future: (id: bigint, pointer: number, length: number) => void
  readonly wakeup_stream: (id: bigint, pointer: number, length: number) => void
}

/** The rest of what the types of Node lack of `WebAssembly.Instance`. */
const Instance = WebAssembly.Instance as unknown as new (
  module: WebAssembly.Module,
  imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
) => { readonly exports: unknown }

export interface Open<Operation> {
  readonly id: bigint
  readonly asked: Operation
}

export class GuestHost {
  readonly #exports: Exports
  readonly #wasi: Wasi
  #nextId = 0n
  #isInside = false
  readonly #requests = new Map<bigint, GuestRequest>()
  readonly #watches = new Map<bigint, WatchRequest>()
  readonly #delays = new Map<bigint, bigint>()

  constructor(module: WebAssembly.Module, environment: Readonly<Record<string, string>> = {}) {
    this.#wasi = wasi(() => this.#exports.memory.buffer, environment)
    const bytes = (pointer: number, length: number): Buffer =>
      Buffer.from(this.#exports.memory.buffer.slice(pointer >>> 0, (pointer >>> 0) + length))
    const began = <Operation>(operations: Map<bigint, Operation>, operation: Operation): bigint => {
      operations.set(this.#nextId, operation)
      return this.#nextId++
    }
    const imports = {
      "http-proxy-abi": {
        request: (pointer: number, length: number) => began(this.#requests, readRequest(bytes(pointer, length))),
      },
      "delay-abi": { delay: (milliseconds: bigint) => began(this.#delays, BigInt.asUintN(64, milliseconds)) },
      "kube-watch-abi": {
        watch: (pointer: number, length: number) => began(this.#watches, readWatch(bytes(pointer, length))),
      },
      wasi_snapshot_preview1: this.#wasi.functions,
    }
    this.#exports = new Instance(module, imports).exports as Exports
    this.#enter(() => this.#exports._initialize?.())
    this.#enter(() => this.#exports.run())
  }

  /** Every line that the guest has written. */
  get log(): ReadonlyArray<string> {
    return this.#wasi.lines
  }

  get requests(): ReadonlyArray<Open<GuestRequest>> {
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
    return this.#exports.memory.buffer.byteLength
  }

  /** Completes a request. A text is sent as it is, anything else as JSON. */
  answer(id: bigint, status: number, body: unknown): void {
    this.#requests.delete(id)
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const response = writeResponse(status, { "content-type": ["application/json"] }, text)
    this.#enter(() => this.#exports.wakeup_future(id, this.#write(response), response.length))
  }

  elapse(id: bigint): void {
    this.#delays.delete(id)
    this.#enter(() => this.#exports.wakeup_future(id, 0, 0))
  }

  /** Delivers one event of a watch. */
  deliver(id: bigint, type: string, object: object): void {
    this.deliverBytes(id, eventOf(type, object))
  }

  deliverBytes(id: bigint, bytes: Uint8Array): void {
    this.#enter(() => this.#exports.wakeup_stream(id, this.#write(bytes), bytes.length))
  }

  end(id: bigint): void {
    this.#watches.delete(id)
    this.#enter(() => this.#exports.wakeup_stream(id, 0, 0))
  }

  #write(bytes: Uint8Array): number {
    const pointer = this.#exports.allocate(bytes.length) >>> 0
    if (pointer === 0) throw new Error("the guest allocated a value at address 0")
    // After `allocate`: the memory may have grown, which detaches earlier views.
    new Uint8Array(this.#exports.memory.buffer, pointer, bytes.length).set(bytes)
    return pointer
  }

  #enter(call: () => void): void {
    if (this.#isInside) throw new Error("the guest was entered while it ran")
    this.#isInside = true
    try {
      call()
    } catch (cause) {
      throw new Error(`the guest trapped; its log: ${this.log.join("\n")}`, { cause })
    } finally {
      this.#isInside = false
    }
  }
}

const open = <Operation>(operations: ReadonlyMap<bigint, Operation>): ReadonlyArray<Open<Operation>> =>
  [...operations].map(([id, asked]) => ({ id, asked }))
