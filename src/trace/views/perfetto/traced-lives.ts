/** Draws the pod lifecycles that a trace lists itself: below their owner a lane for each pod. */
import type { OwnedLifecycles } from "../../formats/simkube/simkube-trace.ts"
import { listedLives, listedOwner } from "../lives/listed-lives.ts"
import type { Placement } from "../lives/placement.ts"
import type { Lane } from "./lanes.ts"
import type { LifeSlices } from "./life-slices.ts"
import { trackPacket } from "./packets.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

/** Draws the lifecycles of one trace. */
export class TracedLives {
  readonly #placement: Placement<Lane, LifeSlices>
  readonly #write: PacketWriter
  #pods = 0

  constructor(placement: Placement<Lane, LifeSlices>, write: PacketWriter) {
    this.#placement = placement
    this.#write = write
  }

  /** Draws those of an owner from the start of the trace on; one that runs ends with it. Times are µs since the Unix epoch. */
  draw(lifecycles: OwnedLifecycles, start: number, end: number): void {
    const { owner, namespace } = listedOwner(lifecycles)
    const root = this.#placement.takeRootOf(owner, namespace)
    for (const life of listedLives(lifecycles, start, end)) {
      const track = new Track(trackUuid(`listed pod ${this.#pods++}`), this.#write)
      const { name } = life
      this.#write(trackPacket({ uuid: track.uuid, parent: root.lane.track.uuid, name, children: "by time" }))
      track.begin(life.begin, "Running")
      track.end(life.end)
    }
    this.#placement.giveBack(root)
  }
}
