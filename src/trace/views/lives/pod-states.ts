/**
 * What a pod did, from one observation of its status to the next: its phases, and the states of its containers.
 *
 * A change counts as having happened when the trace shows it. A container's state says itself since when it is, in whole seconds by the
 * clock of the pod's node: that time counts if it is a second or more before the change was seen, as for containers that had been running
 * for long. Total: what is not as Kubernetes writes it counts as absent.
 */
import { containerLists, isUnschedulable, terminatedName, UNSCHEDULABLE, waitingName } from "../../../timeline/index.ts"
import { IntegralFloat, type JsonObject, type JsonValue } from "../../json/exact-json.ts"
import { memberIn, objectsIn } from "../../json/members.ts"
import type { LifeSketch } from "./life-sketch.ts"
import { givenText, microsIn } from "./trace-object.ts"

/** One state of one container. */
export interface ContainerState {
  /** Different for each state in the life of a container. */
  readonly key: string
  /** `Waiting: CrashLoopBackOff`, `Running`, `Terminated: Error (1)`. */
  readonly name: string
  /** When it began by the clock of the pod's node: whole seconds, in µs since the Unix epoch. Absent: the status does not say. */
  readonly since: number | undefined
  readonly kind: "waiting" | "running" | "terminated"
  /** Whether the container has ended. */
  readonly isEnd: boolean
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** Only of a container that has ended. */
  readonly exitCode?: number | undefined
  readonly signal?: number | undefined
  /** When the run that has ended began, by the clock of the pod's node, in µs since the Unix epoch. */
  readonly startedAt?: number | undefined
}

/** A container as one status shows it. */
export interface ObservedContainer {
  /** Unique in its pod. */
  readonly name: string
  readonly kind: "container" | "init container" | "ephemeral container"
  readonly image: string | undefined
  readonly restarts: number | undefined
  readonly state: ContainerState | undefined
  /** How the run before the present one ended. */
  readonly lastState: ContainerState | undefined
}

/** The containers of a pod whose status names them, in order. */
const containersOf = (pod: JsonObject): ReadonlyArray<ObservedContainer> => {
  const status = memberIn(pod, "status")
  const seen = new Set<string>()
  return containerLists.flatMap(([member, kind]) =>
    objectsIn(status, member).flatMap((each) => {
      const name = givenText(each, "name")
      if (name === undefined || seen.has(name)) return []
      seen.add(name)
      return [
        {
          name,
          kind,
          image: givenText(each, "image"),
          restarts: integerIn(each, "restartCount"),
          state: stateIn(memberIn(each, "state")),
          lastState: terminatedIn(memberIn(memberIn(each, "lastState"), "terminated")),
        },
      ]
    }),
  )
}

const stateIn = (state: JsonValue | undefined): ContainerState | undefined => {
  const running = memberIn(state, "running")
  if (isPresent(running)) {
    const since = microsIn(running, "startedAt")
    return { key: `running ${since}`, name: "Running", since, kind: "running", isEnd: false }
  }
  const terminated = terminatedIn(memberIn(state, "terminated"))
  if (terminated !== undefined) return terminated
  const waiting = memberIn(state, "waiting")
  if (!isPresent(waiting)) return undefined
  const reason = givenText(waiting, "reason")
  const name = waitingName(reason)
  const message = givenText(waiting, "message")
  return { key: name, name, since: undefined, kind: "waiting", isEnd: false, reason, message }
}

const terminatedIn = (terminated: JsonValue | undefined): ContainerState | undefined => {
  if (!isPresent(terminated)) return undefined
  const exitCode = integerIn(terminated, "exitCode")
  const reason = givenText(terminated, "reason")
  const since = microsIn(terminated, "finishedAt")
  return {
    key: `terminated ${since} ${givenText(terminated, "containerID")}`,
    name: terminatedName(reason, exitCode),
    since,
    kind: "terminated",
    isEnd: true,
    reason,
    message: givenText(terminated, "message"),
    exitCode,
    signal: integerIn(terminated, "signal"),
    startedAt: microsIn(terminated, "startedAt"),
  }
}

const isPresent = (value: JsonValue | undefined): boolean => value !== undefined && value !== null

const integerIn = (value: JsonValue | undefined, name: string): number | undefined => {
  const given = memberIn(value, name)
  const number = given instanceof IntegralFloat ? given.value : given
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined
}

interface KnownContainer {
  /** The key of the state that was reported last. */
  told: string | undefined
  /** The key of the last end of the container that is known. */
  lastEnd: string | undefined
}

/** Times in status are cut to it. */
const SECOND = 1_000_000

/** Reads the status of one pod. */
export class PodStates {
  readonly #sketch: Pick<LifeSketch, "phase" | "containerState">
  readonly #begin: number
  readonly #containers = new Map<string, KnownContainer>()
  /** The phase that was reported last, and why it lasts. */
  #phase: string | undefined

  /** @param begin of its life, µs since the Unix epoch: nothing is reported of the time before. */
  constructor(sketch: Pick<LifeSketch, "phase" | "containerState">, begin: number) {
    this.#sketch = sketch
    this.#begin = begin
  }

  /** Tells the sketch what one state of the pod, seen at `time`, has that the one before it did not have. */
  observe(object: JsonObject, time: number): void {
    this.#observePhase(object, time)
    for (const container of containersOf(object)) this.#observeContainer(container, time)
  }

  #observePhase(object: JsonObject, time: number): void {
    const status = memberIn(object, "status")
    const name = givenText(status, "phase")
    if (name === undefined) return
    const blocked = name === "Pending" ? unschedulable(status) : undefined
    const told = blocked === undefined ? name : `${name}: ${UNSCHEDULABLE}`
    if (told === this.#phase) return
    this.#phase = told
    this.#sketch.phase(time, {
      name,
      node: givenText(memberIn(object, "spec"), "nodeName"),
      ip: givenText(status, "podIP"),
      reason: givenText(status, "reason") ?? givenText(blocked, "reason"),
      message: givenText(status, "message") ?? givenText(blocked, "message"),
    })
  }

  #observeContainer(container: ObservedContainer, time: number): void {
    const { name, state, lastState } = container
    if (state === undefined) return
    const known = this.#containers.get(name) ?? { told: undefined, lastEnd: undefined }
    this.#containers.set(name, known)
    // Between two states that were seen, a container may have ended and been started again.
    const isEndNew = lastState !== undefined && lastState.key !== known.lastEnd
    if (isEndNew) known.lastEnd = lastState.key
    const isEndMissed = isEndNew && known.told !== undefined
    if (isEndMissed) this.#tell(known, container, lastState, time)
    if (isEndMissed || state.key !== known.told) this.#tell(known, container, state, time)
  }

  #tell(known: KnownContainer, container: ObservedContainer, state: ContainerState, time: number): void {
    this.#sketch.containerState(this.#timeOf(state, time), container, state)
    known.told = state.key
    if (state.isEnd) known.lastEnd = state.key
  }

  #timeOf({ since }: ContainerState, time: number): number {
    if (since === undefined || time - since < SECOND) return time
    return Math.max(since, this.#begin)
  }
}

/** The condition that says so. */
const unschedulable = (status: JsonValue | undefined): JsonObject | undefined =>
  objectsIn(status, "conditions").find(isUnschedulable)
