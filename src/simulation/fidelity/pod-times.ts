/**
 * How long pods were pending and ran, and how many were in each phase, from a sequence of their states. The trace and the recording of the
 * target are read alike: the times are those at which a recorder received the states, so both have its precision and its delay.
 *
 * - pending: from the first state of a pod to the first whose phase is neither Pending nor Unknown;
 * - running: from there to the first with phase Succeeded or Failed, or to the deletion.
 *
 * Pods that existed at the start are counted in the phases only: when they began is not known.
 *
 * Memory: some 300 bytes per pod.
 */

import { isJsonObject, type JsonValue } from "../../trace/index.ts"
import { podControllers } from "../pods/pod-identity.ts"
import type { Spread } from "../report/replay-report.ts"

// Percentiles of measurements that are all at hand, and shares.

/** Nearest-rank percentiles; `undefined` if there are no values. Sorts the values. */
export const spreadOf = (values: Float64Array | ReadonlyArray<number>): Spread | undefined => {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const at = (share: number): number => rounded(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/** To µs: more digits are not measured. */
export const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

/** Between 0 and 1, and 1 only if it is all; `null`: of nothing. */
export const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.floor((part / whole) * 10_000) / 10_000

/** One pod, in ms after the first moment. */
export interface PodLife {
  /** `namespace/name`; `#3` for the third of its owner if only its life is known. */
  readonly key: string
  /** What created it; from objects the same in the trace and in the target: see {@link podOwner}. */
  readonly owner: string
  /** NaN if it existed at the start, or only its life is known. */
  readonly created: number
  /** NaN if it never ran, or it is not known since when. */
  started: number
  /** NaN if it has not ended. */
  ended: number
}

/** A change of the number of pods in a phase. */
export interface PhaseStep {
  /** ms after the first moment. */
  readonly at: number
  readonly phase: string
  readonly change: 1 | -1
}

interface PresentPod {
  readonly life: PodLife
  readonly phase: string
}

/** Collects both from states of pods. */
export class PodTimes {
  readonly lives: PodLife[] = []
  readonly steps: PhaseStep[] = []
  readonly #present = new Map<string, PresentPod>()

  /**
   * Takes states in the order of time, and returns the life of a pod that it has not met before. `at`: ms after the first moment. `phase`:
   * `undefined` after its deletion.
   */
  observe(key: string, at: number, isAtStart: boolean, owner: string, phase: string | undefined): PodLife | undefined {
    const known = this.#present.get(key)
    if (phase === undefined) {
      if (known !== undefined) this.#gone(key, at, known)
      return undefined
    }
    const life = known?.life ?? this.#add(key, owner, isAtStart ? Number.NaN : at)
    if (known?.phase !== phase) {
      if (known !== undefined) this.steps.push({ at, phase: known.phase, change: -1 })
      this.steps.push({ at, phase, change: 1 })
      this.#present.set(key, { life, phase })
    }
    const met = known === undefined ? life : undefined
    if (isAtStart) return met
    const isOver = phase === "Succeeded" || phase === "Failed"
    const hadStarted = known !== undefined && known.phase !== "Pending" && known.phase !== "Unknown"
    if (Number.isNaN(life.started) && !hadStarted && phase !== "Pending" && phase !== "Unknown") life.started = at
    if (isOver && Number.isNaN(life.ended)) life.ended = at
    return met
  }

  #gone(key: string, at: number, { life, phase }: PresentPod): void {
    this.#present.delete(key)
    this.steps.push({ at, phase, change: -1 })
    if (Number.isNaN(life.ended)) life.ended = at
  }

  #add(key: string, owner: string, created: number): PodLife {
    const life = { key, owner, created, started: Number.NaN, ended: Number.NaN }
    this.lives.push(life)
    return life
  }
}

/** Whether it was created during the run, and not before its first moment. */
export const isCreatedDuringRun = ({ created }: PodLife): boolean => created >= 0
/** ms; NaN if it is not known. */
export const pendingMs = ({ created, started }: PodLife): number => started - created
/** ms; NaN if it is not known. */
export const runningMs = ({ started, ended }: PodLife): number => ended - started

/** `Pending`, `Running`, … */
export const podPhase = (pod: JsonValue | undefined): string => {
  const status = isJsonObject(pod) ? pod.status : undefined
  return isJsonObject(status) && typeof status.phase === "string" && status.phase !== "" ? status.phase : "Unknown"
}

/** What created a pod, by a name that the trace and the target share: the uppermost that {@link podControllers} finds, or the pod itself. */
export const podOwner = (namespace: string, name: string, pod: JsonValue | undefined): string => {
  const top = podControllers(pod).at(-1)
  return top === undefined ? `${namespace}/Pod ${name}` : `${namespace}/${top.kind} ${top.name}`
}

/** A pod of the trace and its counterpart in the target. */
export interface PodPair {
  readonly recorded: PodLife
  readonly replayed: PodLife
}
