/**
 * Compares what a replay did with the recording of its target, in one pass over the recording. Runs after the replay, so that it takes no
 * time from it.
 */
import type { ObjectEvent } from "../../trace/event.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
import type { IdentityOptions } from "../pods/pod-identity.ts"
import { type FidelityReport, gapTolerance } from "./fidelity-report.ts"
import { timelineOf } from "./fidelity-timeline.ts"
import { ObjectDetails } from "./object-details.ts"
import { comparePods } from "./pods/pod-fidelity.ts"
import { TracePodLives } from "./pods/trace-pod-lives.ts"
import { TracePodObjects, type TracePods } from "./pods/trace-pods.ts"
import { spreadOf } from "./spread.ts"
import type { ComparedWrite } from "./state-comparison.ts"
import { replayedNamespaces, TargetReading } from "./target-reading.ts"
import type { EndedRecording, UnmeasuredKind } from "./target-recording.ts"
import type { WriteJournal } from "./write-journal.ts"

/** A recording as it is read. */
export interface RecordedEvents {
  /** Objects of the recording in order; bytes are valid until the next. */
  readonly events: Iterable<ObjectEvent>
  /** Kinds of which the recording lacks something. */
  readonly unmeasured: ReadonlyArray<UnmeasuredKind>
  /** µs since the Unix epoch from which on each kind is recorded. */
  readonly since: EndedRecording["since"]
  readonly settling: Pick<EndedRecording, "settlingMs" | "isSettled">
  /** µs since the Unix epoch at which the first moment of the trace was due. */
  readonly startMicros: number
  /** ms after that: when the recording ended. */
  readonly endMs: number
}

/** `identity`: how the replay changed names and specs. Throws the file system's errors, and those of reading the recording. */
export const judgeReplay = (
  journal: WriteJournal,
  recording: RecordedEvents,
  identity: IdentityOptions,
): FidelityReport => {
  const namespaces = replayedNamespaces(journal)
  const tracePods = podsOfTrace(journal, namespaces, identity)
  const target = new TargetReading(journal, recording.startMicros, namespaces, tracePods ?? { met: () => undefined })
  for (const event of recording.events) target.read(event)
  const unmeasured = new Set(recording.unmeasured.map(({ gvk }) => gvk))
  const details = new ObjectDetails()
  const observed: ComparedWrite[] = []
  const objects = { total: 0, equal: 0 }
  const states = { total: 0, equal: 0, different: 0, missing: 0, refused: 0, outOfOrder: 0, extra: 0 }
  const measuredFrom = (gvk: string): number => {
    const since = unmeasured.has(gvk) ? undefined : recording.since.get(gvk)
    return since === undefined ? Number.POSITIVE_INFINITY : (since - recording.startMicros) / 1000
  }
  for (const object of target.states.results(measuredFrom)) {
    details.add(object)
    if (!object.isMeasured) continue
    objects.total++
    if (object.isEqual) objects.equal++
    states.extra += object.extraStates
    for (const compared of object.writes) {
      const { result, isInOrder } = compared
      if (result === "unmeasured" || result === "skipped") continue
      states.total++
      states[result]++
      if (!isInOrder && result === "equal") states.outOfOrder++
      if (isTimed(compared)) observed.push(compared)
    }
  }
  observed.sort((left, right) => left.write.number - right.write.number)
  const gaps = gapsOf(observed)
  return {
    score: {
      objectsEqual: shareOf(objects.equal, objects.total),
      statesInOrder: shareOf(states.equal - states.outOfOrder, states.total),
      gapsWithin: gaps === null ? null : shareOf(gaps.within, gaps.total),
    },
    tolerance: gapTolerance,
    recording: { ...recording.settling, unmeasured: recording.unmeasured },
    objects,
    states,
    observedMs: spreadOf(observed.map(latenessOf)) ?? null,
    gaps,
    pods: unmeasured.has(podKind) ? null : comparePods(tracePods, target.pods.lives),
    timeline: timelineOf(journal, target, tracePods, observed, recording.endMs, unmeasured),
    worst: details.worst,
    details: details.kept,
  }
}

/** `undefined` if the trace has no pods. Lives are used if no object says that a pod ran. */
const podsOfTrace = (
  journal: WriteJournal,
  namespaces: ReadonlySet<string>,
  identity: IdentityOptions,
): TracePods | undefined => {
  const { namespacePrefix: prefix } = identity
  const namespaceOf = (namespace: string): string => (prefix === "" ? namespace : `${prefix}-${namespace}`)
  const objects = new TracePodObjects(journal, namespaceOf, namespaces)
  const lives = objects.areFollowed ? undefined : new TracePodLives(journal, namespaceOf, namespaces, identity)
  if (lives !== undefined && lives.steps.length > 0) return lives
  return journal.pods.length === 0 ? undefined : objects
}

/** Whether it has a schedule and was observed. What the garbage collector deleted before the replay could is not an event of the replay. */
const isTimed = ({ write, observed }: ComparedWrite): boolean =>
  observed !== undefined && write.due !== undefined && write.outcome === "accepted"

const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.floor((part / whole) * 10_000) / 10_000

const latenessOf = ({ write, observed }: ComparedWrite): number => (observed ?? Number.NaN) - (write.due ?? Number.NaN)

/** Between successive events of the trace that were observed. A pause makes a gap longer, but what may be wrong with it no larger. */
const gapsOf = (observed: ReadonlyArray<ComparedWrite>): FidelityReport["gaps"] => {
  const scheduled = observed.filter(({ write }) => !Number.isNaN(write.planned))
  const errors: number[] = []
  let within = 0
  for (const [index, { write, observed: at = 0 }] of scheduled.entries()) {
    const before = scheduled[index - 1]
    if (before === undefined) continue
    const planned = write.planned - before.write.planned
    const error = Math.abs(at - (before.observed ?? 0) - planned)
    const paused = write.paused - before.write.paused
    errors.push(error)
    if (error <= Math.max(gapTolerance.ms, gapTolerance.share * (planned - paused))) within++
  }
  const errorMs = spreadOf(errors)
  return errorMs === undefined ? null : { total: errors.length, within, errorMs }
}
