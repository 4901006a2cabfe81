/**
 * Which recorded life a pod of the replay leads: that of the same owner and spec, by the order in which the pods were created.
 *
 * Deterministic: the same pods created in the same order get the same lives, for custom resources too. The number of a pod counts those of
 * its owner with its hash (W-39: SimKube counts by hash alone, so that owners with equal pods share a sequence). A spec that the trace does
 * not have, because the target's version or admission adds fields to it, gets the lives of the owner's first generation that no other spec
 * uses (W-37: SimKube takes an arbitrary one).
 *
 * One instance for each run of a replay.
 */
import type { RecordedLife } from "./recorded-lives.ts"

/** Lives by owner, by the hash of the stable spec, and by number. */
export interface LivesByOwner<Life> {
  life(owner: string, hash: bigint, number: number): Life | undefined
  /** Hashes of the owner's pods, in the order in which the first pod of each was created; empty if nothing is known. */
  hashes(owner: string): ReadonlyArray<bigint>
}

/** `Life`: whatever is known of one. */
export class LifeMatching<Life = RecordedLife> {
  readonly #lives: LivesByOwner<Life>
  readonly #counts = new Map<string, number>()
  /** By owner: for each hash of the replay's pods, the recorded one whose lives they get. */
  readonly #standsFor = new Map<string, Map<bigint, bigint>>()

  constructor(lives: LivesByOwner<Life>) {
    this.#lives = lives
  }

  /** The number of a new pod, from 0. `isTrial`: the pod is not created, so the next one gets the same number. */
  number(owner: string, hash: bigint, isTrial: boolean): number {
    const key = `${owner} ${hash}`
    const count = this.#counts.get(key) ?? 0
    if (!isTrial) this.#counts.set(key, count + 1)
    return count
  }

  /** `undefined` if nothing is known, which may change while the trace is being read. */
  life(owner: string, hash: bigint, number: number): Life | undefined {
    const recorded = this.#recordedHash(owner, hash)
    return recorded === undefined ? undefined : this.#lives.life(owner, recorded, number)
  }

  #recordedHash(owner: string, hash: bigint): bigint | undefined {
    const hashes = this.#lives.hashes(owner)
    if (hashes.length === 0) return undefined
    const known = this.#standsFor.get(owner) ?? new Map<bigint, bigint>()
    this.#standsFor.set(owner, known)
    const before = known.get(hash)
    // Its own may have been read in the meantime.
    if (before !== undefined && (before === hash || !hashes.includes(hash))) return before
    const taken = new Set(known.values())
    const chosen = hashes.includes(hash) ? hash : (hashes.find((each) => !taken.has(each)) ?? hashes.at(-1))
    if (chosen !== undefined) known.set(hash, chosen)
    return chosen
  }
}
