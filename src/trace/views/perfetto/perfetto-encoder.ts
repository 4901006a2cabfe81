/**
 * Writes a trace as a Perfetto trace: the lives of its objects, with lanes by namespace, by the object at the top of the owner chain, by
 * object and by container.
 *
 * Guaranteed: every slice has an end, the lanes are trees, the times of a lane never go back and none is before the start of the trace's
 * window. Gaps, and kinds that were not watched, are slices of their own, so that nothing looks more complete than it is.
 *
 * Memory: that of {@link Lives}.
 */
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { TraceItem } from "../../trace-item.ts"
import { Lives } from "../lives/lives.ts"
import { type Lane, Lanes } from "./lanes.ts"
import { LifeSlices } from "./life-slices.ts"
import { MissingLanes } from "./missing-lanes.ts"
import { firstPacket } from "./packets.ts"
import { TracedLives } from "./traced-lives.ts"

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
  readonly #lives = new Lives<Lane, LifeSlices>({
    view: "perfetto",
    lanes: new Lanes(this.#write),
    sketch: (subject) => new LifeSlices(subject, this.#write),
    onStart: (time) => this.#write(firstPacket(time)),
  })
  readonly #listed = new TracedLives(this.#lives.placement, this.#write)
  readonly #missing = new MissingLanes(this.#write)

  add(item: TraceItem): void {
    this.#lives.add(item)
    if (item.type === "lifecycles") this.#listed.draw(item, this.#lives.beginning(), this.#lives.end())
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

  #taken(): Uint8Array {
    const piece = Buffer.concat(this.#packets)
    this.#packets.length = 0
    this.#bytes = 0
    return piece
  }
}
