/**
 * Writes a trace as a Perfetto trace: the lives of its objects, with lanes by namespace, by the object at the top of the owner chain, by
 * object and by container.
 *
 * Guaranteed: every slice has an end, the lanes are trees, the times of a lane never go back and none is before the start of the trace's
 * window. Gaps, and kinds that were not watched, are slices of their own, so that nothing looks more complete than it is.
 *
 * Memory: that of {@link Lives}.
 */

import { UNSCHEDULABLE } from "../../../timeline/index.ts"
import type { GapEvent } from "../../event.ts"
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { FieldDifference } from "../../json/difference.ts"
import type { IncompletePart, OwnedLifecycles, TraceItem } from "../../trace-item.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import {
  type LifeEnd,
  type LifePlace,
  type LifeSketch,
  type LifeSubject,
  labelOf,
  listedLives,
  listedOwner,
  type PodPhase,
  type Root,
} from "../lives/life-sketch.ts"
import { Lives } from "../lives/lives.ts"
import type { ContainerState, ObservedContainer } from "../lives/pod-states.ts"
import { firstPacket, type PacketWriter, Track, trackPacket, trackUuid } from "./packets.ts"

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

/**
 * Draws one life: a slice for it, in it slices for the phases of a pod, instants for changes of what is wanted, and
 * below it a lane for each container with a slice for each of its states. Where its track belongs may be known only
 * when its owner is seen; until then its packets are held.
 */
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

// What the trace lacks: a slice for each gap, and one over everything for each kind that was not being watched.

/** Memory: a lane for each kind, and each namespace of one, that has gaps. */
class MissingLanes {
  readonly #write: PacketWriter
  readonly #tracks = new Map<string, Track>()
  #top: bigint | undefined

  constructor(write: PacketWriter) {
    this.#write = write
  }

  /** Draws a gap, from the start of the trace on at most; times are µs since the Unix epoch. */
  gap(gap: GapEvent, start: number): void {
    const track = this.#trackOf(nameOf(gap))
    track.begin(Math.max(start, gap.fromTime), `gap: ${gap.reason}`, {
      detail: gap.detail,
      "from version": gap.fromVersion,
      "to version": gap.toVersion,
    })
    track.end(gap.toTime)
  }

  /** Draws kinds that the trace does not have all of. */
  incomplete(parts: ReadonlyArray<IncompletePart>, start: number, end: number): void {
    for (const part of parts) {
      const track = this.#trackOf(`${nameOf(part)}: ${part.state}`)
      track.begin(start, `incomplete: ${part.state}`)
      track.end(end)
    }
  }

  #trackOf(name: string): Track {
    const known = this.#tracks.get(name)
    if (known !== undefined) return known
    if (this.#top === undefined) {
      this.#top = trackUuid("missing")
      this.#write(
        trackPacket({ uuid: this.#top, parent: undefined, name: "missing from the trace", children: "by name" }),
      )
    }
    const track = new Track(trackUuid(`missing ${name}`), this.#write)
    this.#write(trackPacket({ uuid: track.uuid, parent: this.#top, name, children: "by time" }))
    this.#tracks.set(name, track)
    return track
  }
}

const nameOf = ({ gvk, namespace = "" }: { readonly gvk: string; readonly namespace?: string }): string =>
  namespace === "" ? gvk : `${gvk} in ${namespace}`

/** A piece is returned once it is this full. */
const CHUNK_BYTES = 64 * 1024

/** One encoder for one trace. */
export const perfettoEncoder = (): TraceEncoder => new PerfettoEncoder()

class PerfettoEncoder implements TraceEncoder {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #packets: Uint8Array[] = []
  #bytes = 0
  readonly #write = (packet: Uint8Array): void => {
    this.#packets.push(packet)
    this.#bytes += packet.length
  }
  readonly #lanes = new RootLanes(this.#write)
  readonly #lives = new Lives<LifeSlices>({
    view: "perfetto",
    sketch: (subject) => new LifeSlices(subject, this.#lanes, this.#write),
    onStart: (time) => this.#write(firstPacket(time)),
  })
  #listedPods = 0
  readonly #missing = new MissingLanes(this.#write)

  add(item: TraceItem): void {
    this.#lives.add(item)
    if (item.type === "lifecycles") this.#listed(item)
    else if (item.type === "event" && item.event.type === "gap") this.#missing.gap(item.event, this.#lives.beginning())
  }

  take(): Uint8Array | undefined {
    return this.#bytes >= CHUNK_BYTES ? this.#taken() : undefined
  }

  *finish(): Generator<Uint8Array> {
    const end = this.#lives.end()
    for (const _ of this.#lives.finish()) if (this.#bytes >= CHUNK_BYTES) yield this.#taken()
    this.#missing.incomplete(this.#lives.header.incomplete, this.#lives.beginning(), end)
    yield this.#taken()
  }

  /** The pod lifecycles that a trace lists itself: below their owner a lane for each pod. */
  #listed(lifecycles: OwnedLifecycles): void {
    const { owner, namespace } = listedOwner(lifecycles)
    const parent = this.#lanes.of(this.#lives.rootOf(owner, namespace), namespace)
    for (const { name, begin, end } of listedLives(lifecycles, this.#lives.beginning(), this.#lives.end())) {
      const track = new Track(trackUuid(`listed pod ${this.#listedPods++}`), this.#write)
      this.#write(trackPacket({ uuid: track.uuid, parent, name, children: "by time" }))
      track.begin(begin, "Running")
      track.end(end)
    }
  }

  #taken(): Uint8Array {
    const piece = Buffer.concat(this.#packets)
    this.#packets.length = 0
    this.#bytes = 0
    return piece
  }
}
