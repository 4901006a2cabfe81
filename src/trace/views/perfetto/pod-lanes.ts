/**
 * What is drawn of a pod: its phases as slices within its life, and a lane below it for each container, with a slice for each of its states.
 *
 * A change is drawn when it happened in the trace. A container's state says itself since when it is, in whole seconds by the clock of the
 * pod's node: that time counts if it is a second or more before the change was seen, as for containers that had been running for long.
 */
import type { JsonObject } from "../../json/exact-json.ts"
import { memberIn, textIn } from "../trace-object.ts"
import { type ContainerState, containersOf, type ObservedContainer } from "./container-states.ts"
import { trackPacket } from "./packets.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

interface ContainerLane {
  readonly track: Track
  /** The key of the state that is drawn. */
  drawn: string | undefined
  /** The key of the last end of the container that is known. */
  lastEnd: string | undefined
}

/** Times in status are cut to it. */
const SECOND = 1_000_000

/** Draws one pod. `pod`: the track of its life, which is open. */
export class PodLanes {
  readonly #pod: Track
  readonly #write: PacketWriter
  readonly #begin: number
  readonly #containers = new Map<string, ContainerLane>()
  #phase: string | undefined

  /** @param begin of its life, µs since the Unix epoch: nothing is drawn before. */
  constructor(pod: Track, write: PacketWriter, begin: number) {
    this.#pod = pod
    this.#write = write
    this.#begin = begin
  }

  /** Draws what one state of the pod shows, seen at `time`. */
  observe(object: JsonObject, time: number): void {
    this.#showPhase(object, time)
    for (const container of containersOf(object)) this.#showContainer(container, time)
  }

  /** Ends all slices but that of the life. */
  end(time: number): void {
    for (const { track } of this.#containers.values()) track.end(time)
    if (this.#phase !== undefined) this.#pod.end(time)
    this.#phase = undefined
    this.#containers.clear()
  }

  #showPhase(object: JsonObject, time: number): void {
    const status = memberIn(object, "status")
    const phase = textIn(status, "phase")
    if (phase === undefined || phase === this.#phase) return
    if (this.#phase !== undefined) this.#pod.end(time)
    this.#phase = phase
    this.#pod.begin(time, phase, {
      node: textIn(memberIn(object, "spec"), "nodeName"),
      "pod IP": textIn(status, "podIP"),
      reason: textIn(status, "reason"),
      message: textIn(status, "message"),
    })
  }

  #showContainer(container: ObservedContainer, time: number): void {
    const { state, lastState } = container
    if (state === undefined) return
    const lane = this.#laneOf(container)
    // Between two states that were seen, a container may have ended and been started again.
    const isEndNew = lastState !== undefined && lastState.key !== lane.lastEnd
    if (isEndNew) lane.lastEnd = lastState.key
    const isEndMissed = isEndNew && lane.drawn !== undefined
    if (isEndMissed) this.#draw(lane, container, lastState, time)
    if (isEndMissed || state.key !== lane.drawn) this.#draw(lane, container, state, time)
  }

  #draw(lane: ContainerLane, { image, restarts }: ObservedContainer, state: ContainerState, time: number): void {
    const at = this.#timeOf(state, time)
    lane.track.end(at)
    lane.track.begin(at, state.name, { image, restarts, ...state.annotations })
    lane.drawn = state.key
    if (state.isEnd) lane.lastEnd = state.key
  }

  #timeOf({ since }: ContainerState, time: number): number {
    if (since === undefined || time - since < SECOND) return time
    return Math.max(since, this.#begin)
  }

  #laneOf({ name, kind }: ObservedContainer): ContainerLane {
    const known = this.#containers.get(name)
    if (known !== undefined) return known
    const uuid = trackUuid(`container ${this.#pod.uuid} ${name}`)
    const label = kind === "container" ? name : `${name} (${kind})`
    this.#write(trackPacket({ uuid, parent: this.#pod.uuid, name: label, children: "by time" }))
    const lane: ContainerLane = { track: new Track(uuid, this.#write), drawn: undefined, lastEnd: undefined }
    this.#containers.set(name, lane)
    return lane
  }
}
