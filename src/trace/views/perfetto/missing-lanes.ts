/** What the trace lacks: a slice for each gap, and one over everything for each kind that was not being watched. */
import type { GapEvent } from "../../event.ts"
import type { IncompletePart } from "../../trace-item.ts"
import { trackPacket } from "./packets.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

/** Memory: a lane for each kind, and each namespace of one, that has gaps. */
export class MissingLanes {
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
