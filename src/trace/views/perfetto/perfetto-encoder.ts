/**
 * Writes a trace as a Perfetto trace: the lives of its objects, with lanes by namespace, by the object at the top of the owner chain, by
 * object and by container.
 *
 * Guaranteed: every slice has an end, the lanes are trees, the times of a lane never go back and none is before the start of the trace's
 * window. Gaps, and kinds that were not watched, are slices of their own, so that nothing looks more complete than it is.
 *
 * Memory: that of {@link Lives}.
 */

import type { GapEvent } from "../../event.ts"
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { IncompletePart, OwnedLifecycles, TraceItem } from "../../trace-item.ts"
import { listedLives, listedOwner } from "../lives/life-sketch.ts"
import { Lives } from "../lives/lives.ts"
import { LifeSlices, RootLanes } from "./life-slices.ts"
import { firstPacket, type PacketWriter, Track, trackPacket, trackUuid } from "./packets.ts"

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
