/**
 * What a pod did, from one observation of its status to the next: its phases, and the states of its containers.
 *
 * A change counts as having happened when the trace shows it. A container's state says itself since when it is, in whole seconds by the clock of the
 * pod's node: that time counts if it is a second or more before the change was seen, as for containers that had been running for long.
 */
import type { JsonObject, JsonValue } from "../../json/exact-json.ts"
import { type ContainerState, containersOf, type ObservedContainer } from "./container-states.ts"
import type { LifeSketch } from "./life-sketch.ts"
import { memberIn, objectsIn, textIn } from "./trace-object.ts"

interface KnownContainer {
  /** The key of the state that was told last. */
  told: string | undefined
  /** The key of the last end of the container that is known. */
  lastEnd: string | undefined
}

/** Times in status are cut to it. */
const SECOND = 1_000_000

/** Reads the status of one pod. */
export class PodStates {
  readonly #sketch: Pick<LifeSketch<never>, "phase" | "containerState">
  readonly #begin: number
  readonly #containers = new Map<string, KnownContainer>()
  /** The phase that was told last, and why it lasts. */
  #phase: string | undefined

  /** @param begin of its life, µs since the Unix epoch: nothing is told of the time before. */
  constructor(sketch: Pick<LifeSketch<never>, "phase" | "containerState">, begin: number) {
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
    const name = textIn(status, "phase")
    if (name === undefined) return
    const blocked = name === "Pending" ? unschedulable(status) : undefined
    const told = blocked === undefined ? name : `${name}: ${UNSCHEDULABLE}`
    if (told === this.#phase) return
    this.#phase = told
    this.#sketch.phase(time, {
      name,
      node: textIn(memberIn(object, "spec"), "nodeName"),
      ip: textIn(status, "podIP"),
      reason: textIn(status, "reason") ?? textIn(blocked, "reason"),
      message: textIn(status, "message") ?? textIn(blocked, "message"),
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

/** What the scheduler says of a pod for which it finds no node. */
export const UNSCHEDULABLE = "Unschedulable"

/** The condition that says so: `status.reason` comes from the kubelet of a node, and such a pod has none. */
const unschedulable = (status: JsonValue | undefined): JsonObject | undefined =>
  objectsIn(status, "conditions").find(
    (condition) => textIn(condition, "type") === "PodScheduled" && textIn(condition, "reason") === UNSCHEDULABLE,
  )
