/**
 * The pod lifecycles that a trace lists itself, as SimKube's do instead of pods: below their owner a lane for each pod, named by the hash of
 * its spec, because the pods have no names.
 */
import type { OwnedLifecycles } from "../../formats/simkube/simkube-trace.ts"
import { trackPacket } from "./packets.ts"
import type { Placement } from "./placement.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

/** Draws the lifecycles of one trace. */
export class TracedLives {
  readonly #placement: Placement
  readonly #write: PacketWriter
  #pods = 0

  constructor(placement: Placement, write: PacketWriter) {
    this.#placement = placement
    this.#write = write
  }

  /** Draws those of an owner from the start of the trace on; one that runs ends with it. Times are µs since the Unix epoch. */
  draw({ gvk, owner, pods }: OwnedLifecycles, start: number, end: number): void {
    const slash = owner.indexOf("/")
    const namespace = slash === -1 ? "" : owner.slice(0, slash)
    const root = this.#placement.takeRootOf({ gvk, name: owner.slice(slash + 1), uid: "" }, namespace)
    for (const [hash, lives] of pods) {
      const name = `Pod with spec ${hash.toString(16).padStart(16, "0")}`
      for (const life of lives) {
        if (life.state === "empty") continue
        const track = new Track(trackUuid(`listed pod ${this.#pods++}`), this.#write)
        this.#write(trackPacket({ uuid: track.uuid, parent: root.lane.track.uuid, name, children: "by time" }))
        track.begin(Math.max(start, life.start * 1_000_000), "Running")
        track.end(life.state === "finished" ? life.end * 1_000_000 : end)
      }
    }
    this.#placement.giveBack(root)
  }
}
