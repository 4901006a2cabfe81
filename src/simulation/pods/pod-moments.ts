/**
 * The moments of a pod's life: when it was scheduled, started, ready and ended, as its status and the recording show them.
 *
 * Times in a status are whole seconds by the clocks of several machines. A recording has the microsecond at which it received the state that
 * first showed the moment, by one clock. A duration is taken from the recording if the status does not contradict it: after a gap, or for a
 * state that is older than the trace, only the status knows.
 */
import { isRecord } from "../../is-record.ts"

/** One moment as far as it is known. */
export interface Moment {
  /** ms since the Unix epoch, whole seconds: what the status says. */
  readonly statedMs: number | undefined
  /** ms since the Unix epoch: when the recording first saw it; `undefined` if it had happened before. */
  readonly seenMs: number | undefined
}

/** What one state of a pod shows. */
interface ShownMoments {
  /** ms since the Unix epoch; `undefined`: the state does not say when; `false`: it has not happened. */
  readonly scheduled: number | undefined | false
  readonly started: number | undefined | false
  readonly ready: number | undefined | false
  /** Its containers have ended and are not started again. */
  readonly ended: number | undefined | false
  readonly exitCode: number
  readonly restarts: number
}

/** ms by which a whole second and another clock's second can differ. */
const tolerance = 1500

/** ms from one moment to a later one. */
export const between = (from: Moment, to: Moment): number | undefined => {
  const [stated, seen] = [difference(from.statedMs, to.statedMs), difference(from.seenMs, to.seenMs)]
  // One state may show both moments for the first time.
  const isSeenApart = seen !== undefined && from.seenMs !== to.seenMs
  const chosen = stated === undefined || (isSeenApart && Math.abs(seen - stated) <= tolerance) ? seen : stated
  return chosen ?? difference(from.statedMs ?? from.seenMs, to.statedMs ?? to.seenMs)
}

const difference = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : Math.max(0, to - from)

/** Total: what has another form than Kubernetes writes counts as absent. */
export const momentsOf = (pod: Readonly<Record<string, unknown>>): ShownMoments => {
  const spec = isRecord(pod.spec) ? pod.spec : {}
  const status = isRecord(pod.status) ? pod.status : {}
  const containers = recordsIn(status.containerStatuses)
  const states = containers.map(({ state }) => (isRecord(state) ? state : {}))
  const running = recordsIn(states.map((state) => state.running))
  const terminated = recordsIn(states.map((state) => state.terminated))
  const phase = status.phase
  const isOver = phase === "Succeeded" || phase === "Failed"
  // Between two restarts all containers may have ended, and the phase is Running.
  const hasEnded =
    isOver || (phase === undefined && terminated.length > 0 && terminated.length === recordsIn(spec.containers).length)
  const hasStarted = phase === "Running" || isOver || running.length + terminated.length > 0
  const condition = conditionSince(status, "PodScheduled")
  const isBound = typeof spec.nodeName === "string" && spec.nodeName !== ""
  const earliest = minimum([...running, ...terminated].map(({ startedAt }) => millisOf(startedAt)))
  return {
    scheduled: condition !== false ? condition : isBound ? undefined : false,
    started: hasStarted && (earliest ?? (running.length > 0 ? undefined : millisOf(status.startTime))),
    ready: conditionSince(status, "Ready"),
    ended: hasEnded && maximum(terminated.map(({ finishedAt }) => millisOf(finishedAt))),
    exitCode: maximum(terminated.map(({ exitCode }) => numberOf(exitCode))) ?? (phase === "Failed" ? 1 : 0),
    restarts: maximum(containers.map(({ restartCount }) => numberOf(restartCount))) ?? 0,
  }
}

const conditionSince = (status: Readonly<Record<string, unknown>>, type: string): number | undefined | false => {
  const condition = recordsIn(status.conditions).find((each) => each.type === type)
  return condition?.status === "True" && millisOf(condition.lastTransitionTime)
}

const recordsIn = (list: unknown): ReadonlyArray<Record<string, unknown>> =>
  Array.isArray(list) ? list.filter(isRecord) : []

const minimum = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce(
    (least, each) => (each === undefined || (least !== undefined && least <= each) ? least : each),
    undefined,
  )

const maximum = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce((most, each) => (each === undefined || (most !== undefined && most >= each) ? most : each), undefined)

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const millisOf = (time: unknown): number | undefined => {
  const ms = typeof time === "string" ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
