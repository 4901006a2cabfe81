/**
 * What a trace knows about the lives of its pods, by owner and hash of the stable spec, in order of creation. Some
 * 100 bytes each; from {@link mostLives} on, further ones are dropped.
 */

// Which recorded life a pod of the replay leads: that of the same owner and spec, by the order in which the pods were created.

/** Lives by owner, by the hash of the stable spec, and by number. */
interface LivesByOwner<Life> {
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

/** One pod's life. Durations are ms of the trace's time; what is not known is `undefined`. */
export interface RecordedLife {
  /** From being scheduled to the start of its containers. */
  readonly startMs: number | undefined
  /** From there to ready. */
  readonly readyMs: number | undefined
  /** From the start to an end of its own; `undefined` also for a pod that was deleted while it ran. */
  readonly runMs: number | undefined
  /** The highest of its containers. */
  readonly exitCode: number
  /** The highest count of its containers. */
  readonly restarts: number
}

/** A life that is still being observed. */
export type GrowingLife = { -readonly [Member in keyof RecordedLife]: RecordedLife[Member] }

/** Names an owner in the trace: `apps/v1.Deployment shop/web`. */
export const ownerKey = (gvk: string, namespace: string, name: string): string =>
  `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`

/** 50 MB. */
const mostLives = 500_000

interface Entry {
  readonly life: RecordedLife
  /** Whatever orders pods by creation. */
  readonly created: number
}

/** Pods of one owner with the same spec, such as those of one ReplicaSet of a Deployment. */
interface Generation {
  /** SimKube's hash of the stable spec. */
  readonly hash: bigint
  readonly entries: Entry[]
}

/** Grows while a trace is read, and may be asked at any time for what is known so far. */
export class RecordedLives {
  /** By owner; generations in the order in which their first pods were created. */
  readonly #owners = new Map<string, Generation[]>()
  #count = 0
  #isFull = false

  /** How many lives are known. */
  get count(): number {
    return this.#count
  }

  /** Whether lives were dropped because there are too many. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** `created`: any number that increases with the pod's creation; equal ones keep the order of the calls. */
  add(owner: string, hash: bigint, life: RecordedLife, created: number): void {
    if (this.#count >= mostLives) {
      this.#isFull = true
      return
    }
    this.#count++
    this.#insert(owner, hash, { life, created })
  }

  /** The pod was gone before the part of the trace that is replayed. */
  remove(owner: string, hash: bigint, life: RecordedLife): void {
    const generations = this.#owners.get(owner) ?? []
    const entries = generations.find((each) => each.hash === hash)?.entries ?? []
    const index = entries.findIndex((entry) => entry.life === life)
    if (index === -1) return
    this.#count--
    entries.splice(index, 1)
    if (entries.length > 0) return
    const left = generations.filter((each) => each.hash !== hash)
    if (left.length === 0) this.#owners.delete(owner)
    else this.#owners.set(owner, left)
  }

  /** An owner turns out to be owned itself: its pods are those of its own owner, such as a Job's of a CronJob. */
  move(owner: string, to: string): void {
    const generations = this.#owners.get(owner)
    if (generations === undefined || owner === to) return
    this.#owners.delete(owner)
    for (const { hash, entries } of generations) for (const entry of entries) this.#insert(to, hash, entry)
  }

  /** The life with an index, counted round: recorded lives are used again when there are more pods than were recorded. */
  life(owner: string, hash: bigint, index: number): RecordedLife | undefined {
    const entries = this.#owners.get(owner)?.find((each) => each.hash === hash)?.entries
    return entries?.[index % entries.length]?.life
  }

  /** Hashes of the owner's generations; empty if nothing is known about its pods. */
  hashes(owner: string): ReadonlyArray<bigint> {
    return (this.#owners.get(owner) ?? []).map(({ hash }) => hash)
  }

  #insert(owner: string, hash: bigint, entry: Entry): void {
    const generations = this.#owners.get(owner) ?? []
    this.#owners.set(owner, generations)
    let generation = generations.find((each) => each.hash === hash)
    if (generation === undefined) {
      generation = { hash, entries: [] }
      generations.push(generation)
    }
    const { entries } = generation
    // Nearly always the last one.
    let at = entries.length
    while (at > 0 && (entries[at - 1] as Entry).created > entry.created) at--
    entries.splice(at, 0, entry)
    if (at === 0) generations.sort((left, right) => createdOf(left) - createdOf(right))
  }
}

const createdOf = ({ entries }: Generation): number => entries[0]?.created ?? 0
