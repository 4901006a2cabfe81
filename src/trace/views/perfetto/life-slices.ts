/**
 * Draws one life: a slice for it, in it slices for the phases of a pod, instants for changes of what is wanted, and below it a lane for each
 * container with a slice for each of its states.
 *
 * Where its track belongs in the tree may be known only later, when its owner is seen. Until then its packets are held.
 */
import type { FieldDifference } from "../../json/difference.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import {
  type LifeEnd,
  type LifePlace,
  type LifeSketch,
  type LifeSubject,
  labelOf,
  type PodPhase,
  type Root,
} from "../lives/life-sketch.ts"
import { type ContainerState, type ObservedContainer, UNSCHEDULABLE } from "../lives/pod-states.ts"
import { type PacketWriter, Track, trackPacket, trackUuid } from "./packets.ts"

/** Lanes that are known to be described; more are forgotten, and described again when something is drawn in them. */
const MOST_LANES = 10_000

/** The lanes that contain others: namespaces, and in them the objects at the top of owner chains. */
export class RootLanes {
  readonly #write: PacketWriter
  readonly #described = new Set<bigint>()

  constructor(write: PacketWriter) {
    this.#write = write
  }

  /** The lane of what an object at the top owns in a namespace, described if it is new. */
  of({ identity, label }: Root, namespace: string): bigint {
    const above = namespace === "" ? "objects without a namespace" : `namespace ${namespace}`
    const parent = trackUuid(`lane namespace ${namespace} ${above}`)
    const uuid = trackUuid(`lane ${namespace} ${identity} ${label}`)
    this.#describe(parent, undefined, above, "by name")
    this.#describe(uuid, parent, label, "by time")
    return uuid
  }

  #describe(uuid: bigint, parent: bigint | undefined, name: string, children: "by name" | "by time"): void {
    if (this.#described.has(uuid)) return
    if (this.#described.size >= MOST_LANES) this.#described.clear()
    this.#described.add(uuid)
    this.#write(trackPacket({ uuid, parent, name, children }))
  }
}

/** The slices of one life. */
export class LifeSlices implements LifeSketch {
  readonly #subject: LifeSubject
  readonly #write: PacketWriter
  readonly #lanes: RootLanes
  /** `undefined`: nothing is held any more. */
  #held: Uint8Array[] | undefined = []
  #track: Track
  #isInPhase = false
  readonly #containers = new Map<string, Track>()

  constructor(subject: LifeSubject, lanes: RootLanes, write: PacketWriter) {
    this.#subject = subject
    this.#lanes = lanes
    this.#write = write
    this.#track = new Track(trackUuid(`object ${subject.number}`), (packet) => this.#emit(packet))
  }

  place({ root, isTop }: LifePlace<this>): void {
    const parent = this.#lanes.of(root, this.#subject.namespace)
    // The object at the top is drawn on the lane itself.
    if (isTop) this.#track = new Track(parent, this.#write)
    else {
      this.#write(trackPacket({ uuid: this.#track.uuid, parent, name: this.#subject.label, children: "by time" }))
      for (const packet of this.#held ?? []) this.#write(packet)
    }
    this.#held = undefined
  }

  begin(time: number): void {
    const { gvk, namespace, name, uid, label, owner, created } = this.#subject
    this.#track.begin(time, name === "" ? label : name, {
      kind: gvk,
      namespace: namespace === "" ? undefined : namespace,
      name,
      uid: uid === "" ? undefined : uid,
      created,
      owner: owner === undefined ? undefined : labelOf(owner),
    })
  }

  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void {
    const fields = differences.map(({ path }) => path)
    const first = fields[0] ?? ""
    this.#track.instant(time, fields.length === 1 ? `changed ${first}` : `changed ${first} and more`, {
      fields: isCut ? `${fields.join(", ")}, and more` : fields.join(", "),
    })
  }

  deletionRequested(time: number, requested: string): void {
    this.#track.instant(time, "deletion requested", { by: requested })
  }

  phase(time: number, { name, node, ip, reason, message }: PodPhase): void {
    if (this.#isInPhase) this.#track.end(time)
    this.#isInPhase = true
    const shown = reason === UNSCHEDULABLE ? `${name}: ${reason}` : name
    this.#track.begin(time, shown, { node, "pod IP": ip, reason, message })
  }

  containerState(time: number, container: ObservedContainer, state: ContainerState): void {
    const track = this.#trackOf(container)
    track.end(time)
    track.begin(time, state.name, {
      image: container.image,
      restarts: container.restarts,
      "exit code": state.exitCode,
      signal: state.signal,
      // The reason is part of the name.
      message: state.message,
    })
  }

  condition(time: number, { name, message }: ToldCondition): void {
    this.#track.instant(time, name, { message })
  }

  end(time: number, { how, node }: LifeEnd): void {
    for (const track of this.#containers.values()) track.end(time)
    if (this.#isInPhase) this.#track.end(time)
    this.#isInPhase = false
    this.#containers.clear()
    this.#track.end(time, { end: how, node })
  }

  #trackOf({ name, kind }: ObservedContainer): Track {
    const known = this.#containers.get(name)
    if (known !== undefined) return known
    const uuid = trackUuid(`container ${this.#track.uuid} ${name}`)
    const label = kind === "container" ? name : `${name} (${kind})`
    this.#emit(trackPacket({ uuid, parent: this.#track.uuid, name: label, children: "by time" }))
    const track = new Track(uuid, (packet) => this.#emit(packet))
    this.#containers.set(name, track)
    return track
  }

  #emit(packet: Uint8Array): void {
    if (this.#held === undefined) this.#write(packet)
    else this.#held.push(packet)
  }
}
