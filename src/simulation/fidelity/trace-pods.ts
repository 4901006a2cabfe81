/** The pods of a trace, from its Pod objects, and their counterparts in the target. */
import { exactJsonIn, type JsonValue } from "../../trace/json/exact-json.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
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
import type { WriteJournal } from "./write-journal.ts"

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
