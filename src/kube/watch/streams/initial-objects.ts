/**
 * Tells the initial objects of a streaming list from live events, for as long as its end bookmark has not come.
 *
 * A server that does not know `sendInitialEvents` begins with the same `ADDED` events and goes on with live ones, in the same form and for ever. Of
 * these, a change or deletion is no initial object, nor is what was added before in this list, nor what was created after the response had
 * begun. So the number of initial objects is finite, however busy the kind is.
 */
import { createdSeconds } from "../liveness/written-time.ts"
import type { ObservedObject } from "../observed-object.ts"

export class InitialObjects {
  /** Initial objects so far. */
  count = 0
  /** Hashes of their UIDs. Two objects with the same hash count once, which matters to no one: 1 in 10,000 objects at 100,000. */
  readonly #seen = new Set<number>()
  /** The server's clock when it began to respond, s since the Unix epoch; `undefined` if it sends none. */
  readonly #begun: number | undefined

  constructor(begunMs: number | undefined) {
    this.#begun = begunMs === undefined ? undefined : Math.floor(begunMs / 1000)
  }

  /** An `ADDED` event. */
  added(object: Readonly<ObservedObject>): void {
    const uid = hashOf(object)
    if (this.#seen.has(uid)) return
    this.#seen.add(uid)
    if (this.#begun === undefined || createdSeconds(object) <= this.#begun) this.count++
  }
}

/** FNV-1a, 30 bits: a Set keeps such integers without boxing them. */
const hashOf = ({ bytes, scanned: { uidStart, uidEnd } }: Readonly<ObservedObject>): number => {
  let hash = 0x811c9dc5
  for (let at = uidStart; at < uidEnd; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return hash & 0x3fffffff
}
