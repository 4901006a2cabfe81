/**
 * Compares what a replay did with the recording of its target, in one pass over the recording. Runs after the replay, so that it takes no
 * time from it.
 */

import { type ObjectEvent, podKind } from "../../trace/index.ts"
import type { IdentityOptions } from "../pods/pod-identity.ts"
import {
  type FidelityReport,
  gapTolerance,
  mostExtraObjects,
  type PodFidelity,
  type UnmeasuredKind,
  type WriteResult,
} from "../report/fidelity-report.ts"
import type { FoundObjects } from "./extra-objects.ts"
import { detailsOf, worstWrites } from "./object-details.ts"
import {
  isCreatedDuringRun,
  type PodLife,
  type PodPair,
  pendingMs,
  rounded,
  runningMs,
  shareOf,
  spreadOf,
} from "./pod-times.ts"
import { type ComparedWrite, replayedNamespaces, TargetReading } from "./target-reading.ts"
import type { EndedRecording } from "./target-recording.ts"
import { timelineOf } from "./timeline.ts"
import { type PodBalance, TracePodLives, TracePodObjects, type TracePods } from "./trace-pods.ts"
import type { WriteJournal } from "./write-journal.ts"

// How long pods were pending and ran, in the trace and in the target.

/** Pairs that are shown. */
const worstPods = 10

/**
 * `recorded`: `undefined` if the trace has no pods, otherwise after it has met all of `replayed`. `unasked`: pods of
 * the target that did not get their lives, because the webhook was not asked.
 */
const comparePods = (
  recorded: TracePods | undefined,
  replayed: ReadonlyArray<PodLife>,
  unasked: number,
): PodFidelity | null => {
  if (recorded === undefined && replayed.length === 0) return null
  const pairs = recorded?.pairs() ?? []
  const compared = replayed.filter((life) => recorded?.isCompared(life) ?? isCreatedDuringRun(life))
  const both = <T>(of: (lives: ReadonlyArray<PodLife>) => T) => ({
    recorded: recorded === undefined ? null : of(recorded.lives),
    replayed: of(compared),
  })
  const neverStarted = both((lives) => lives.filter(({ started }) => Number.isNaN(started)).length)
  const spread = (values: ReadonlyArray<number>) => spreadOf(values.filter(Number.isFinite)) ?? null
  const difference = (pair: PodPair, of: (life: PodLife) => number): number =>
    Math.abs(of(pair.replayed) - of(pair.recorded))
  const distance = (pair: PodPair): number =>
    Math.max(...[pendingMs, runningMs].map((of) => difference(pair, of)).filter(Number.isFinite), 0)
  const shown = (pair: PodPair, of: (life: PodLife) => number) => ({
    recorded: finite(of(pair.recorded)),
    replayed: finite(of(pair.replayed)),
  })
  const balance = recorded?.balance()
  return {
    ...sharesOf(balance, unasked),
    recordedFrom: recorded?.from ?? null,
    created: both(({ length }) => length),
    neverStarted: recorded?.from === "lives" ? { ...neverStarted, recorded: null } : neverStarted,
    paired: pairs.length,
    pendingMs: both((lives) => spread(lives.map(pendingMs))),
    runningMs: both((lives) => spread(lives.map(runningMs))),
    pendingDifferenceMs: spread(pairs.map((pair) => difference(pair, pendingMs))),
    runningDifferenceMs: spread(pairs.map((pair) => difference(pair, runningMs))),
    worst: pairs
      .toSorted((left, right) => distance(right) - distance(left))
      .slice(0, worstPods)
      .map((pair) => ({
        owner: pair.recorded.owner,
        pod: { recorded: pair.recorded.key, replayed: pair.replayed.key },
        pendingMs: shown(pair, pendingMs),
        runningMs: shown(pair, runningMs),
      })),
  }
}

const finite = (ms: number): number | null => (Number.isFinite(ms) ? rounded(ms) : null)

const sharesOf = (
  balance: PodBalance | undefined,
  unasked: number,
): Pick<PodFidelity, "asRecorded" | "extra" | "missing" | "unasked"> => {
  if (balance === undefined) return { asRecorded: null, extra: null, missing: null, unasked }
  const { recorded, missing, extra } = balance
  const asRecorded = shareOf(Math.max(0, recorded - missing - unasked), recorded + extra)
  return { asRecorded, extra, missing, unasked }
}

/** A recording as it is read. */
interface RecordedEvents {
  /** Objects of the recording in order; bytes are valid until the next. */
  readonly events: Iterable<ObjectEvent>
  /** Kinds of which the recording lacks something. */
  readonly unmeasured: ReadonlyArray<UnmeasuredKind>
  /** µs since the Unix epoch from which on each kind is recorded. */
  readonly since: EndedRecording["since"]
  /** Objects in the namespaces of the replay that are of its kinds, and that neither the replay nor a controller has made. */
  readonly found: FoundObjects
  /** Whether a webhook was to tell pods their recorded lives. */
  readonly followsLives: boolean
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
  const target = new TargetReading(journal, recording.startMicros, namespaces, tracePods)
  for (const event of recording.events) target.read(event)
  const unmeasured = new Set(recording.unmeasured.map(({ gvk }) => gvk))
  const counted: ComparedWrite[] = []
  const objects = { total: 0, equal: 0, unmeasured: 0, extra: recording.found.extra.length }
  const measuredFrom = (gvk: string): number => {
    const since = unmeasured.has(gvk) ? undefined : recording.since.get(gvk)
    return since === undefined ? Number.POSITIVE_INFINITY : (since - recording.startMicros) / 1000
  }
  let extra = 0
  const compared = target.results(measuredFrom)
  for (const object of compared) {
    const own = object.writes.filter(({ result }) => isCounted(result, object.isMeasured))
    if (own.length === 0) continue
    objects.total++
    if (object.isEqual) objects.equal++
    if (!object.isMeasured) objects.unmeasured++
    extra += object.extraStates
    const from = measuredFrom(object.object.place.gvk)
    for (const each of own) counted.push(sinceResponse(each, from))
  }
  counted.sort((left, right) => left.write.number - right.write.number)
  const states = statesOf(counted, extra)
  const pods = unmeasured.has(podKind)
    ? null
    : comparePods(tracePods, target.pods.lives, recording.followsLives ? target.unasked : 0)
  const observed = counted.filter(isTimed)
  const gaps = gapsOf(counted)
  const onTime = onTimeOf(counted)
  return {
    score: {
      objectsEqual: shareOf(objects.equal, objects.total + objects.extra),
      statesInOrder: shareOf(states.equal - states.outOfOrder, states.total),
      onTime: onTime === null ? null : shareOf(onTime.within, onTime.total),
      gapsWithin: gaps === null ? null : shareOf(gaps.within, gaps.total),
      pods: pods?.asRecorded ?? null,
    },
    tolerance: gapTolerance,
    recording: { ...recording.settling, unmeasured: recording.unmeasured, unlisted: recording.found.unlisted },
    objects,
    extraObjects: recording.found.extra.slice(0, mostExtraObjects),
    states,
    observedMs: spreadOf(observed.map(latenessOf)) ?? null,
    onTime,
    gaps,
    pods,
    timeline: timelineOf(journal, target, tracePods, observed, recording.endMs, unmeasured),
    worst: worstWrites(compared),
    details: detailsOf(compared),
  }
}

/** What the trace has and the target should have: what was never written counts. Of what precedes the first list of a kind only the end is known. */
const isCounted = (result: WriteResult, isMeasured: boolean): boolean =>
  result !== "skipped" && (result !== "unmeasured" || !isMeasured)

/** A state that was there before its kind was recorded was there when the target responded: its first list says only that it still is. */
const sinceResponse = (compared: ComparedWrite, measuredFrom: number): ComparedWrite => {
  const { write, observed } = compared
  const settled = write.settled ?? Number.POSITIVE_INFINITY
  return observed === undefined || settled >= measuredFrom ? compared : { ...compared, observed: settled }
}

const statesOf = (counted: ReadonlyArray<ComparedWrite>, extra: number): FidelityReport["states"] => {
  const wrong = { different: 0, early: 0, missing: 0, refused: 0, unwritten: 0, unmeasured: 0 }
  const counts = { equal: 0, ...wrong, outOfOrder: 0 }
  for (const { result, isInOrder } of counted) {
    if (result === "skipped") continue
    counts[result]++
    if (!isInOrder && result === "equal") counts.outOfOrder++
  }
  return { total: counted.length, ...counts, extra }
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

/** Whether it has a schedule and was observed. */
const isTimed = ({ write, observed }: ComparedWrite): boolean => observed !== undefined && write.due !== undefined

const latenessOf = ({ write, observed }: ComparedWrite): number => (observed ?? Number.NaN) - (write.due ?? Number.NaN)

const hasPlan = ({ write }: ComparedWrite): boolean => write.due !== undefined && !Number.isNaN(write.planned)

/** By the schedule without delays: what a target that cannot keep up delays is late. What was never observed is not on time either. */
const onTimeOf = (counted: ReadonlyArray<ComparedWrite>): FidelityReport["onTime"] => {
  const scheduled = counted.filter(hasPlan)
  if (scheduled.length === 0) return null
  const deviations = scheduled.flatMap(({ write, observed }) =>
    observed === undefined ? [] : [observed - write.planned],
  )
  const early = deviations.filter((ms) => ms < -gapTolerance.ms).length
  const late = deviations.filter((ms) => ms > gapTolerance.ms).length
  return { total: scheduled.length, within: deviations.length - early - late, early, late }
}

/**
 * Between successive events of the trace. A pause makes a gap longer, but what may be wrong with it no larger. A gap at which one of the two was
 * not observed is not kept, and has no error.
 */
const gapsOf = (counted: ReadonlyArray<ComparedWrite>): FidelityReport["gaps"] => {
  const scheduled = counted.filter(hasPlan)
  const errors: number[] = []
  let within = 0
  for (const [index, { write, observed: at }] of scheduled.entries()) {
    const before = scheduled[index - 1]
    if (before?.observed === undefined || at === undefined) continue
    const planned = write.planned - before.write.planned
    const error = Math.abs(at - before.observed - planned)
    const paused = write.paused - before.write.paused
    errors.push(error)
    if (error <= Math.max(gapTolerance.ms, gapTolerance.share * (planned - paused))) within++
  }
  return scheduled.length < 2 ? null : { total: scheduled.length - 1, within, errorMs: spreadOf(errors) ?? null }
}
