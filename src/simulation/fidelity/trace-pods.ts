/** The pods of a trace, from its Pod objects, and their counterparts in the target. */

import type { Pod } from "../../kube/index.ts"
import { exactJsonIn, isJsonObject, type JsonValue, NestingTooDeepError, podKind } from "../../trace/index.ts"
import {
  type IdentityOptions,
  ownersInTrace,
  podControllers,
  recordedHash,
  rememberedIdentity,
} from "../pods/pod-identity.ts"
import { LifeMatching } from "../pods/recorded-lives.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import {
  isCreatedDuringRun,
  type PhaseStep,
  type PodLife,
  type PodPair,
  PodTimes,
  podOwner,
  podPhase,
} from "./pod-times.ts"
import type { ReplayedTrace, TraceLife, WriteJournal } from "./write-journal.ts"

// The pods of a trace that has no Pod objects, only when pods started and ended: SimKube's traces, and recordings that track the lives of
// pods without the Pods themselves.

/** What the trace knows of the pods of one run. */
export class TracePodLives implements TracePods {
  readonly from = "lives"
  readonly lives: PodLife[] = []
  readonly steps: PhaseStep[] = []
  readonly #identity: IdentityOptions
  /** By owner and hash, in the order in which the trace has them. */
  readonly #known = new Map<string, Map<bigint, PodLife[]>>()
  readonly #matching = new LifeMatching<PodLife>({
    life: (owner, hash, number) => this.#known.get(owner)?.get(hash)?.[number],
    hashes: (owner) => [...(this.#known.get(owner)?.keys() ?? [])],
  })
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
      const generations = this.#known.get(owner) ?? new Map<bigint, PodLife[]>()
      const lives = generations.get(hash) ?? []
      this.#known.set(owner, generations.set(hash, lives))
      const started = isDuringRun ? from : Number.NaN
      const life = { key: `#${lives.length + 1}`, owner, created: Number.NaN, started, ended: to }
      lives.push(life)
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

/** What a trace knows about pods in the namespaces that are replayed. */
export interface TracePods {
  /** `lives`: when pods started and ended is known, but neither when they were created nor their phases. */
  readonly from: "objects" | "lives"
  /** Of pods that were created during the run; from lives, of those that started. */
  readonly lives: ReadonlyArray<PodLife>
  /** Of all pods. */
  readonly steps: ReadonlyArray<PhaseStep>
  /** Whether a pod of the target is one of those that are compared: the same as for `lives`, and pods that never ran. */
  isCompared(life: PodLife): boolean
  /** Takes each pod of the target when it is first observed, in that order. `namespace`: in the target; `pod`: its object. */
  met(life: PodLife, namespace: string, pod: JsonValue | undefined): void
  /** After the last pod was met: those of `lives` that have a counterpart that is compared. */
  pairs(): ReadonlyArray<PodPair>
  /**
   * After the last pod was met: all pods of the trace and of the target, those at the start too, because a pod of the start may be created after
   * the first moment.
   */
  balance(): PodBalance
}

/** How many pods the trace and the target have, owner by owner. */
export interface PodBalance {
  /** Of the trace. */
  readonly recorded: number
  /** Of those: without a counterpart. */
  readonly missing: number
  /** Of the target: not the counterpart of any. */
  readonly extra: number
}

/** Pods that the trace has as objects. The counterpart of a pod is the one that the same owner created with the same number. */
export class TracePodObjects implements TracePods {
  readonly from = "objects"
  readonly lives: ReadonlyArray<PodLife>
  readonly steps: ReadonlyArray<PhaseStep>
  /** Whether any of them is seen to run: formats for replay have Pods without status, or, as SimKube's tracer, only with their first one. */
  readonly areFollowed: boolean
  readonly #met: PodLife[] = []
  readonly #all: ReadonlyArray<PodLife>

  /** `namespaceOf`: the namespace of the target for one of the trace; `replayed`: only pods in these can have a counterpart. */
  constructor(journal: WriteJournal, namespaceOf: (namespace: string) => string, replayed: ReadonlySet<string>) {
    const times = new PodTimes()
    for (const { key, at, isAtStart, body } of journal.pods) {
      const [recordedNamespace = "", name = ""] = key.split("/")
      const namespace = namespaceOf(recordedNamespace)
      if (!replayed.has(namespace)) continue
      const pod = body === undefined ? undefined : exactJsonIn(journal.read(body))
      const phase = body === undefined ? undefined : podPhase(pod)
      times.observe(key, at, isAtStart, ownerIn(journal, namespace, name, pod), phase)
    }
    this.#all = times.lives
    this.lives = times.lives.filter(isCreatedDuringRun)
    this.steps = times.steps
    this.areFollowed = times.steps.some(({ phase }) => phase !== "Unknown" && phase !== "Pending")
  }

  readonly isCompared = isCreatedDuringRun

  met(life: PodLife): void {
    this.#met.push(life)
  }

  balance(): PodBalance {
    const left = new Map<string, number>()
    for (const { owner } of this.#all) left.set(owner, (left.get(owner) ?? 0) + 1)
    for (const { owner } of this.#met) left.set(owner, (left.get(owner) ?? 0) - 1)
    const differences = [...left.values()]
    const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)
    return {
      recorded: this.#all.length,
      missing: sum(differences.filter((each) => each > 0)),
      extra: -sum(differences.filter((each) => each < 0)),
    }
  }

  pairs(): ReadonlyArray<PodPair> {
    const waiting = Map.groupBy(this.#met.filter(isCreatedDuringRun), ({ owner }) => owner)
    const taken = new Map<string, number>()
    return this.lives.flatMap((recorded) => {
      const number = taken.get(recorded.owner) ?? 0
      taken.set(recorded.owner, number + 1)
      const replayed = waiting.get(recorded.owner)?.[number]
      return replayed === undefined ? [] : [{ recorded, replayed }]
    })
  }
}

/** A pod that the replay writes is its own, whatever created it in the trace: it has the same name in both. */
export const ownerIn = (journal: WriteJournal, namespace: string, name: string, pod: JsonValue | undefined): string =>
  journal.objects.has(keyOf({ gvk: podKind, namespace, name }))
    ? `${namespace}/Pod ${name}`
    : podOwner(namespace, name, pod)
