/**
 * The operations that a guest has asked for and that have not ended, under the ids of one counter; and those of the call that is running,
 * which its host gets when the guest has returned.
 */
import { decodeGuestRequest, decodeWatchRequest, type GuestRequest, type WatchRequest } from "./abi-values.ts"
import { BincodeError } from "./bincode.ts"
import type { TrapFault } from "./errors.ts"
import type { GuestMemory } from "./wasi.ts"

/** What a guest waits for: the next value of a watch, the response to a request, the end of a delay. */
export type OperationKind = "watch" | "request" | "delay"

/** Who serves the operations of a guest. */
export interface OperationHost {
  watch(id: bigint, request: WatchRequest): void
  /** The guest takes no more of the watch, which is no operation any more. */
  cancel(id: bigint): void
  request(id: bigint, request: GuestRequest): void
  /** @param ms from 0 to 2^64−1. */
  delay(id: bigint, ms: bigint): void
}

/** What protects the host's memory from a guest that asks without end. */
export interface GuestLimits {
  /** Operations that have not ended. Default 16,384: each is an object of the host, and a controller has some tens. */
  readonly operations: number
  /** Bytes of requests and watches in one call of the guest. Default 64 MiB: the host holds copies of them all until the guest returns. */
  readonly bytesPerCall: number
}

export const defaultGuestLimits: GuestLimits = { operations: 16_384, bytesPerCall: 64 * 1024 * 1024 }

/** A guest asked for what it does not get, which ends it. */
export class AskingRefused extends Error {
  readonly fault: TrapFault

  constructor(fault: TrapFault, message: string) {
    super(message)
    this.fault = fault
  }
}

export class GuestOperations {
  readonly #memory: GuestMemory
  readonly #limits: GuestLimits
  readonly #open = new Map<bigint, OperationKind>()
  #nextId = 0n
  /** What was asked for in the call that is running, and the bytes of it. */
  #asked: Array<(host: OperationHost) => void> = []
  #askedBytes = 0

  constructor(memory: GuestMemory, limits: GuestLimits) {
    this.#memory = memory
    this.#limits = limits
  }

  /** Those that have not ended; a view that changes. */
  get open(): ReadonlyMap<bigint, OperationKind> {
    return this.#open
  }

  close(id: bigint): void {
    this.#open.delete(id)
  }

  /** A call of the guest begins. */
  begin(): void {
    this.#asked = []
    this.#askedBytes = 0
  }

  /** Passes on what was asked for in the call, in order. */
  deliver(host: OperationHost): void {
    for (const ask of this.#asked) ask(host)
    this.begin()
  }

  /** @throws {AskingRefused} as the other two do. */
  watch(pointer: number, length: number): bigint {
    const request = this.#decoded(decodeWatchRequest, pointer, length)
    return this.#add("watch", (host, id) => host.watch(id, request))
  }

  request(pointer: number, length: number): bigint {
    const request = this.#decoded(decodeGuestRequest, pointer, length)
    return this.#add("request", (host, id) => host.request(id, request))
  }

  /** Without effect for a watch that has ended, which the guest may not know yet, and for other operations. */
  cancel(id: bigint): void {
    if (this.#open.get(id) !== "watch") return
    this.#open.delete(id)
    this.#asked.push((host) => host.cancel(id))
  }

  /** @param ms as the guest passes it: 64 bits with a sign. */
  delay(ms: bigint): bigint {
    return this.#add("delay", (host, id) => host.delay(id, BigInt.asUintN(64, ms)))
  }

  #add(kind: OperationKind, ask: (host: OperationHost, id: bigint) => void): bigint {
    const { operations } = this.#limits
    if (this.#open.size >= operations)
      throw new AskingRefused("too-many-operations", `it has ${operations} operations open and asked for another`)
    const id = this.#nextId++
    this.#open.set(id, kind)
    this.#asked.push((host) => ask(host, id))
    return id
  }

  #decoded<Value>(decode: (bytes: Uint8Array) => Value, pointer: number, length: number): Value {
    const address = pointer >>> 0
    const size = length >>> 0
    if (!this.#memory.has(address, size))
      throw new AskingRefused("bad-value", `it passed ${size} bytes at ${address}, which its memory does not have`)
    this.#askedBytes += size
    const { bytesPerCall } = this.#limits
    if (this.#askedBytes > bytesPerCall)
      throw new AskingRefused(
        "too-many-bytes",
        `its requests and watches of one call have more than ${bytesPerCall} bytes`,
      )
    try {
      return decode(this.#memory.bytes(address, size))
    } catch (cause) {
      if (!(cause instanceof BincodeError)) throw cause
      throw new AskingRefused("bad-value", `it passed an invalid value: ${cause.message}`)
    }
  }
}
