/**
 * When a pod started and ended: what one Pod object shows, and what follows from a sequence of them (docs/facts/simkube.md#pod-lifecycles).
 *
 * | from one object                                                                                                   |
 * | ----------------------------------------------------------------------------------------------------------------- |
 * | start: the earliest `startedAt` of a running or terminated container, init containers included                    |
 * | end: the latest `finishedAt` of a terminated one, if as many main containers have one as the spec has containers  |
 * | ignored: `lastState`, ephemeral containers, `status.startTime`, the phase, restart counts                         |
 *
 * Over time the first start stays, and the end is that of the last object: a pod whose container is restarted runs again, and its last end
 * is its end (W-35: SimKube takes the completion of such pods for a contradiction and never records it). An object without a start (all
 * containers waiting, as between two restarts) changes nothing. The end is never before the start.
 *
 * Two clocks are involved. Times in the status are whole seconds by the clock of the pod's node. A pod that is deleted while it runs ends,
 * as far as anyone can know, when the recorder received the deletion: whole seconds by the recorder's clock. If the clocks differ, that end
 * could be before the start; then it is set to the start.
 *
 * Total: for an object of an unexpected structure it returns the problem and never throws (W-36).
 */

import { isRecord } from "../../is-record.ts"
/** Start and end of a pod, whole seconds since the Unix epoch. */
export interface PodLifetime {
  readonly start: number
  /** Never before `start`; `undefined` while it runs. */
  readonly end: number | undefined
}

/** Why an object shows nothing about a pod's life. */
export type PodProblem =
  | "the object cannot be read"
  | "it has no status"
  | "its status is not an object"
  | "its container statuses are not a list of objects"
  | "the state of a container is not an object"
  | "a container has an invalid time"
  | "spec.containers is not a list"

/** An anomaly of an object that is still usable; the part concerned counts as absent. */
export type PodOddity = "a container has no state or several" | "a container's state lacks its time"

/** What one object shows: start and end before they are combined with earlier ones, whole seconds since the Unix epoch. */
export interface ObservedLifetime {
  readonly start: number | undefined
  readonly end: number | undefined
  readonly oddity: PodOddity | undefined
}

/**
 * Reads the `status` of a Pod object. `mainContainers` returns how many the spec has, `undefined` if that is not a list; it is called only
 * if a container has ended.
 */
export const observeLifetime = (
  status: unknown,
  mainContainers: () => number | undefined,
): ObservedLifetime | PodProblem => {
  if (status === undefined || status === null) return "it has no status"
  if (!isRecord(status)) return "its status is not an object"
  const times = new ContainerTimes()
  const problem = times.read(status.initContainerStatuses, false) ?? times.read(status.containerStatuses, true)
  if (problem !== undefined) return problem
  const { start, end, mainEnds, oddity } = times
  if (end === undefined) return { start, end, oddity }
  const containers = mainContainers()
  if (containers === undefined) return "spec.containers is not a list"
  return { start, end: mainEnds === containers ? end : undefined, oddity }
}

/** The life after another object; returns `before` itself if nothing has changed. `undefined`: the pod has never run. */
export const nextLifetime = (before: PodLifetime | undefined, observed: ObservedLifetime): PodLifetime | undefined => {
  if (observed.start === undefined) return before
  const start = before === undefined ? observed.start : before.start
  const end = observed.end === undefined ? undefined : Math.max(observed.end, start)
  return before !== undefined && before.end === end ? before : { start, end }
}

/** The life of a pod that is gone; if it was running, it ends at `seconds`, the time of the deletion (since the Unix epoch). */
export const endedLifetime = (before: PodLifetime, seconds: number): PodLifetime =>
  before.end === undefined ? { start: before.start, end: Math.max(seconds, before.start) } : before

/** Collects the times of an object's containers. */
class ContainerTimes {
  start: number | undefined
  end: number | undefined
  mainEnds = 0
  oddity: PodOddity | undefined

  read(statuses: unknown, isMain: boolean): PodProblem | undefined {
    if (statuses === undefined || statuses === null) return undefined
    if (!Array.isArray(statuses)) return "its container statuses are not a list of objects"
    for (const status of statuses) {
      if (!isRecord(status)) return "its container statuses are not a list of objects"
      const problem = this.#container(status.state, isMain)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #container(state: unknown, isMain: boolean): PodProblem | undefined {
    if (state === undefined || state === null) return undefined
    if (!isRecord(state)) return "the state of a container is not an object"
    const given = [state.waiting, state.running, state.terminated].filter((each) => each !== undefined && each !== null)
    if (given.some((each) => !isRecord(each))) return "the state of a container is not an object"
    if (given.length !== 1) {
      this.oddity = "a container has no state or several"
      return undefined
    }
    if (isRecord(state.running)) return this.#started(state.running.startedAt)
    if (!isRecord(state.terminated)) return undefined
    return this.#started(state.terminated.startedAt) ?? this.#finished(state.terminated.finishedAt, isMain)
  }

  #started(time: unknown): PodProblem | undefined {
    const seconds = this.#seconds(time)
    if (typeof seconds === "string") return seconds
    if (seconds !== undefined && !(this.start !== undefined && this.start <= seconds)) this.start = seconds
    return undefined
  }

  #finished(time: unknown, isMain: boolean): PodProblem | undefined {
    const seconds = this.#seconds(time)
    if (typeof seconds === "string") return seconds
    if (seconds === undefined) return undefined
    if (!(this.end !== undefined && this.end >= seconds)) this.end = seconds
    if (isMain) this.mainEnds++
    return undefined
  }

  #seconds(time: unknown): number | undefined | PodProblem {
    if (time === undefined || time === null) {
      this.oddity = "a container's state lacks its time"
      return undefined
    }
    const seconds = typeof time === "string" && rfc3339.test(time) ? Math.floor(Date.parse(time) / 1000) : Number.NaN
    return Number.isNaN(seconds) ? "a container has an invalid time" : seconds
  }
}

/** `Date.parse` accepts much more than this. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
