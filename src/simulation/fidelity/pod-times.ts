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
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"

/** One pod, in ms after the first moment. */
export interface PodLife {
  /** `namespace/name` */
  readonly key: string
  /** What created it, the same in the trace and in the target: see {@link podOwner}. */
  readonly owner: string
  /** NaN if it existed at the start. */
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

export class PodTimes {
  readonly lives: PodLife[] = []
  readonly steps: PhaseStep[] = []
  readonly #present = new Map<string, { readonly life: PodLife; phase: string }>()

  /** Takes states in the order of time. `at`: ms after the first moment. `pod`: `undefined` after its deletion. */
  observe(key: string, at: number, isAtStart: boolean, owner: string, phase: string | undefined): void {
    const known = this.#present.get(key)
    if (phase === undefined) {
      if (known === undefined) return
      this.#present.delete(key)
      this.steps.push({ at, phase: known.phase, change: -1 })
      if (Number.isNaN(known.life.ended)) known.life.ended = at
      return
    }
    const life = known?.life ?? this.#add(key, owner, isAtStart ? Number.NaN : at)
    if (known?.phase !== phase) {
      if (known !== undefined) this.steps.push({ at, phase: known.phase, change: -1 })
      this.steps.push({ at, phase, change: 1 })
      this.#present.set(key, { life, phase })
    }
    if (isAtStart) return
    const isOver = phase === "Succeeded" || phase === "Failed"
    const hadStarted = known !== undefined && known.phase !== "Pending" && known.phase !== "Unknown"
    if (Number.isNaN(life.started) && !hadStarted && phase !== "Pending" && phase !== "Unknown") life.started = at
    if (isOver && Number.isNaN(life.ended)) life.ended = at
  }

  #add(key: string, owner: string, created: number): PodLife {
    const life = { key, owner, created, started: Number.NaN, ended: Number.NaN }
    this.lives.push(life)
    return life
  }
}

/** ms; NaN if it is not known. */
export const pendingMs = ({ created, started }: PodLife): number => started - created
export const runningMs = ({ started, ended }: PodLife): number => ended - started

/** `Pending`, `Running`, … */
export const podPhase = (pod: JsonValue | undefined): string => {
  const status = isJsonObject(pod) ? pod.status : undefined
  return isJsonObject(status) && typeof status.phase === "string" && status.phase !== "" ? status.phase : "Unknown"
}

/**
 * What created a pod, by a name that the trace and the target share. Names of ReplicaSets end with a hash of the template, and those of a
 * CronJob's Jobs with their minute: both are left out, which gives the Deployment and the CronJob.
 */
export const podOwner = (namespace: string, name: string, pod: JsonValue | undefined): string => {
  const metadata = isJsonObject(pod) && isJsonObject(pod.metadata) ? pod.metadata : {}
  const references = Array.isArray(metadata.ownerReferences)
    ? (metadata.ownerReferences as ReadonlyArray<JsonValue>)
    : []
  const controller = references.filter(isJsonObject).find((reference) => reference.controller === true)
  // The root of a replay owns what the replay writes, but created none of it: it is no controller.
  if (controller === undefined) return `${namespace}/Pod ${name}`
  const [kind, owner] = [String(controller.kind), String(controller.name)]
  if (kind === "ReplicaSet") {
    const hash = labelOf(metadata, "pod-template-hash")
    if (hash !== undefined && owner.endsWith(`-${hash}`))
      return `${namespace}/Deployment ${owner.slice(0, -hash.length - 1)}`
  }
  const scheduled = kind === "Job" ? /^(.+)-\d{8,}$/.exec(owner)?.[1] : undefined
  return scheduled === undefined ? `${namespace}/${kind} ${owner}` : `${namespace}/CronJob ${scheduled}`
}

const labelOf = ({ labels }: JsonObject, key: string): string | undefined => {
  const value = isJsonObject(labels) && Object.hasOwn(labels, key) ? labels[key] : undefined
  return typeof value === "string" ? value : undefined
}

/** A pod of the trace and its counterpart in the target: in both it is the n-th pod that its owner created. */
export interface PodPair {
  readonly recorded: PodLife
  readonly replayed: PodLife
}

/** Pods that existed at the start are left out on both sides. */
export const podPairs = (
  recorded: ReadonlyArray<PodLife>,
  replayed: ReadonlyArray<PodLife>,
): ReadonlyArray<PodPair> => {
  const waiting = Map.groupBy(
    replayed.filter(({ created }) => created >= 0),
    ({ owner }) => owner,
  )
  const taken = new Map<string, number>()
  return recorded
    .filter(({ created }) => created >= 0)
    .flatMap((life) => {
      const sequence = taken.get(life.owner) ?? 0
      const other = waiting.get(life.owner)?.[sequence]
      taken.set(life.owner, sequence + 1)
      return other === undefined ? [] : [{ recorded: life, replayed: other }]
    })
}
