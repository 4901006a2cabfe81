/**
 * How much of the main thread each client gets for the bodies of its requests.
 *
 * Bodies are read and parsed in the thread that serves health probes. Four connections that sent rejected bodies of 0.8 MB without a pause took
 * all of it, and a probe waited for 56 ms. Now each client has so many bytes per ms, and reads ahead of them by a burst: one request of any
 * size is not delayed, a flood is. What a client wastes delays no other client.
 */
import * as Effect from "effect/Effect"
import type { Clock } from "../../../clock.ts"
import { elapsed } from "./races.ts"

/** Bodies at once: they keep at most 16 MiB. */
export const maximumBodies = 16

/** Of one client, an identity at an address: as many as it may have exports. */
export const maximumBodiesPerClient = 4

/**
 * Reading, counting and discarding this much takes a few percent of the thread. With twice as much, a flood of rejected bodies made commits on
 * two cores later by a quarter (bench scenario *hostile*).
 */
const bytesPerMs = 4 * 1024

/** The cost of a body of 0.8 MB: reading counts its bytes once, parsing four times more. */
const burstBytes = 4 * 1024 * 1024

/** Clients that are remembered before those are dropped that owe nothing. */
const rememberedClients = 1000

/** One body, from the request to its end. */
export interface BodyPlace {
  /** Resolves when the client may cost as much as `bytes` more, in the order of the calls, or when it is gone. */
  readonly turn: (bytes: number, gone: Effect.Effect<void>) => Promise<void>
  /** Called once. */
  readonly leave: () => void
}

interface ClientShare {
  receiving: number
  /** When everything that was granted is paid for, ms on the monotonic clock; in the past for a client that owes nothing. */
  paidAtMs: number
}

/** The shares of all clients. */
export class BodyShares {
  readonly #clock: Clock
  readonly #clients = new Map<string, ClientShare>()
  #receiving = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `undefined` if as many bodies as allowed are being received. */
  enter(client: string): BodyPlace | undefined {
    const share = this.#shareOf(client)
    if (share.receiving >= maximumBodiesPerClient || this.#receiving >= maximumBodies) return undefined
    const add = (change: 1 | -1): void => {
      share.receiving += change
      this.#receiving += change
    }
    add(1)
    return { turn: (bytes, gone) => this.#turn(share, bytes, gone), leave: () => add(-1) }
  }

  /** Number of clients that are remembered. */
  get remembered(): number {
    return this.#clients.size
  }

  #shareOf(client: string): ClientShare {
    const known = this.#clients.get(client)
    if (known !== undefined) return known
    if (this.#clients.size >= rememberedClients) {
      const now = this.#clock.monotonicMs()
      for (const [name, { receiving, paidAtMs }] of this.#clients)
        if (receiving === 0 && paidAtMs <= now) this.#clients.delete(name)
    }
    const share = { receiving: 0, paidAtMs: 0 }
    this.#clients.set(client, share)
    return share
  }

  async #turn(share: ClientShare, bytes: number, gone: Effect.Effect<void>): Promise<void> {
    const now = this.#clock.monotonicMs()
    const waitMs = share.paidAtMs - burstBytes / bytesPerMs - now
    share.paidAtMs = Math.max(share.paidAtMs, now) + bytes / bytesPerMs
    if (waitMs > 0) await Effect.runPromise(Effect.raceFirst(elapsed(this.#clock, waitMs), gone))
  }
}
