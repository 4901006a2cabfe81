/**
 * The tree of lanes that contain others: namespaces, and the objects at the top of owner chains. A lane exists while something alive uses
 * it, so that memory does not grow with the objects that are gone.
 */
import type { Root, RootLanes } from "../lives/life-sketch.ts"
import { trackPacket } from "./packets.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

/** What a lane is called and where it is. */
interface LaneOrder {
  /** Tells it from all others. */
  readonly key: string
  readonly name: string
  /** Absent: it is at the top. */
  readonly parent?: LaneOrder
  readonly children: "by name" | "by time"
}

/** A lane with others below it. */
export interface Lane {
  readonly track: Track
}

interface HeldLane extends Lane {
  readonly key: string
  readonly parent: HeldLane | undefined
  users: number
}

/** All lanes that are in use. */
export class Lanes implements RootLanes<Lane> {
  readonly #write: PacketWriter
  readonly #lanes = new Map<string, HeldLane>()

  constructor(write: PacketWriter) {
    this.#write = write
  }

  /** The lane of the object at the top of an owner chain, described if it is new. */
  takeRoot({ identity, label }: Omit<Root<Lane>, "lane">, namespace: string): Lane {
    const above = namespace === "" ? "objects without a namespace" : `namespace ${namespace}`
    const parent = { key: `namespace ${namespace}`, name: above, children: "by name" } as const
    return this.#take({ key: `${namespace} ${identity}`, name: label, parent, children: "by time" })
  }

  release(lane: Lane): void {
    // Only this class makes lanes.
    for (let held = lane as HeldLane | undefined; held !== undefined && --held.users === 0; held = held.parent)
      this.#lanes.delete(held.key)
  }

  #take({ key, name, parent: above, children }: LaneOrder): HeldLane {
    const known = this.#lanes.get(key)
    if (known !== undefined) {
      known.users++
      return known
    }
    const parent = above === undefined ? undefined : this.#take(above)
    // A lane that comes again is the same lane for the UI, and its description may be repeated.
    const uuid = trackUuid(`lane ${key} ${name}`)
    this.#write(trackPacket({ uuid, parent: parent?.track.uuid, name, children }))
    const lane = { key, parent, track: new Track(uuid, this.#write), users: 1 }
    this.#lanes.set(key, lane)
    return lane
  }
}
