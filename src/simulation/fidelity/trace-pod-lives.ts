/**
 * The pods of a trace that has no Pod objects, only when pods started and ended: SimKube's traces, and recordings that track the lives of
 * pods without the Pods themselves.
 *
 * A pod of the target is matched as the webhook does it (life-matching.ts): by its owners in the trace and the hash of its stable spec, then by
 * its number. The webhook has written hash and number into the pods that it saw; for the others they are found here, from the states that
 * were recorded. Each life has one counterpart at most.
 *
 * Starts and ends are whole seconds. When a pod was created is not known, so it has no pending time, nor are pods that never ran.
 */

import type { Pod } from "../../kube/client/objects.ts"
import { NestingTooDeepError } from "../../trace/formats/simkube/hash/simkube-hash.ts"
import { isJsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { LifeMatching, type LivesByOwner } from "../pods/life-matching.ts"
import { type IdentityOptions, ownersInTrace, recordedHash, rememberedIdentity } from "../pods/pod-identity.ts"
import { isCreatedDuringRun, type PhaseStep, type PodLife, type PodPair, podControllers } from "./pod-times.ts"
import type { PodBalance, TracePods } from "./trace-pods.ts"
import type { ReplayedTrace, TraceLife, WriteJournal } from "./write-journal.ts"

/** What the trace knows of the pods of one run. */
export class TracePodLives implements TracePods {
  readonly from = "lives"
  readonly lives: PodLife[] = []
  readonly steps: PhaseStep[] = []
  readonly #identity: IdentityOptions
  readonly #known = new OrderedLives()
  readonly #matching = new LifeMatching(this.#known)
  /** By the life in the trace. */
  readonly #counterparts = new Map<PodLife, PodLife>()
  /** Those that ran at some time of the replay. */
  readonly #alive = new Set<PodLife>()
  readonly #met: PodLife[] = []

  /** `namespaceOf`: the namespace of the target for one of the trace; `replayed`: only pods in these can have a counterpart. */
  constructor(
    journal: WriteJournal,
    namespaceOf: (namespace: string) => string,
    replayed: ReadonlySet<string>,
    identity: IdentityOptions,
  ) {
    this.#identity = identity
    const { trace } = journal
    if (trace === undefined) return
    for (const { owner, namespace, hash, ...recorded } of journal.lives) {
      if (!replayed.has(namespaceOf(namespace))) continue
      const { from, to, isDuringRun } = spanOf(recorded, trace)
      const key = `#${this.#known.count(owner, hash) + 1}`
      const life = { key, owner, created: Number.NaN, started: isDuringRun ? from : Number.NaN, ended: to }
      this.#known.add(owner, hash, life)
      if (isDuringRun) this.lives.push(life)
      if (Number.isNaN(from)) continue
      this.#alive.add(life)
      this.steps.push({ at: from, phase: "Running", change: 1 })
      if (!Number.isNaN(to)) this.steps.push({ at: to, phase: "Running", change: -1 })
    }
  }

  /** Pods of the state at the start may have been created before the first moment, and started after it. */
  isCompared(life: PodLife): boolean {
    return isCreatedDuringRun(life) || !Number.isNaN(life.started)
  }

  met(life: PodLife, namespace: string, pod: JsonValue | undefined): void {
    this.#met.push(life)
    if (!isJsonObject(pod) || !isJsonObject(pod.metadata)) return
    const typed = pod as unknown as Pod
    const owners = ownersInTrace(namespace, typed, podControllers(pod), this.#identity)
    const remembered = rememberedIdentity(typed)
    const hash = remembered?.hash ?? this.#hashOf(pod.spec)
    if (hash === undefined) return
    const number = remembered?.number ?? this.#matching.number(owners.at(-2) ?? owners[0] ?? "", hash, false)
    for (const owner of owners) {
      const recorded = this.#matching.life(owner, hash, number)
      if (recorded === undefined) continue
      if (!this.#counterparts.has(recorded)) this.#counterparts.set(recorded, life)
      return
    }
  }

  pairs(): ReadonlyArray<PodPair> {
    return this.lives.flatMap((recorded) => {
      const replayed = this.#counterparts.get(recorded)
      return replayed === undefined || !this.isCompared(replayed) ? [] : [{ recorded, replayed }]
    })
  }

  /** Pods that never ran are in no trace. */
  balance(): PodBalance {
    const taken = new Set(this.#counterparts.values())
    const hasRun = (life: PodLife): boolean => !isCreatedDuringRun(life) || !Number.isNaN(life.started)
    return {
      recorded: this.#alive.size,
      missing: [...this.#alive].filter((life) => !this.#counterparts.has(life)).length,
      extra: this.#met.filter((life) => !taken.has(life) && hasRun(life)).length,
    }
  }

  /** `undefined` if it nests too deeply. */
  #hashOf(spec: JsonValue | undefined): bigint | undefined {
    try {
      return isJsonObject(spec) ? recordedHash(spec, this.#identity) : undefined
    } catch (error) {
      if (error instanceof NestingTooDeepError) return undefined
      throw error
    }
  }
}

/** When a life was due to begin and to end, in ms after the first moment; NaN: not during the replay, or not known. */
const spanOf = (
  { start, end }: Pick<TraceLife, "start" | "end">,
  trace: ReplayedTrace,
): { readonly from: number; readonly to: number; readonly isDuringRun: boolean } => {
  const dueMs = (second: number): number => {
    const ms = trace.dueMs(second * 1_000_000)
    return Number.isFinite(ms) ? ms : Number.NaN
  }
  // What started in the second of the first moment may have started after it.
  const first = Math.floor(trace.start / 1_000_000)
  const to = end === undefined || end < first || end * 1_000_000 > trace.until ? Number.NaN : dueMs(end)
  if (start === undefined || start * 1_000_000 >= trace.until) return { from: Number.NaN, to, isDuringRun: false }
  if (start >= first) return { from: dueMs(start), to, isDuringRun: true }
  return { from: end === undefined || end > first ? 0 : Number.NaN, to, isDuringRun: false }
}

/** Lives by owner and hash, in the order in which the trace has them. */
class OrderedLives implements LivesByOwner<PodLife> {
  readonly #owners = new Map<string, Map<bigint, PodLife[]>>()

  count(owner: string, hash: bigint): number {
    return this.#owners.get(owner)?.get(hash)?.length ?? 0
  }

  add(owner: string, hash: bigint, life: PodLife): void {
    const generations = this.#owners.get(owner) ?? new Map<bigint, PodLife[]>()
    this.#owners.set(owner, generations)
    const lives = generations.get(hash)
    if (lives === undefined) generations.set(hash, [life])
    else lives.push(life)
  }

  life(owner: string, hash: bigint, number: number): PodLife | undefined {
    return this.#owners.get(owner)?.get(hash)?.[number]
  }

  hashes(owner: string): ReadonlyArray<bigint> {
    return [...(this.#owners.get(owner)?.keys() ?? [])]
  }
}
