/**
 * Writes a trace as a Perfetto trace: the lives of its objects, with lanes by namespace, by the object at the top of the owner chain, by
 * object and by container.
 *
 * Guaranteed: every slice has an end, the lanes are trees, the times of a lane never go back and none is before the start of the trace's
 * window. A trace without a window begins with its first item. An object that exists at the end is drawn up to there. Gaps, and kinds that
 * were not watched, are slices of their own, so that nothing looks more complete than it is.
 *
 * Memory: what is wanted of each object that is alive, as JSON.
 */
import type { GapEvent, ObjectEvent } from "../../event.ts"
import { type LeftOut, nothingLeftOut, type TraceEncoder, UnwritableTraceError } from "../../formats/format.ts"
import type { JsonObject } from "../../json/exact-json.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { guarded, objectOf } from "../trace-object.ts"
import { MissingLanes } from "./missing-lanes.ts"
import { ObjectLife } from "./object-life.ts"
import { type OwnerName, placeKey } from "./owner-names.ts"
import { firstPacket } from "./packets.ts"
import { Placement } from "./placement.ts"
import { TracedLives } from "./traced-lives.ts"

const VIEW = "perfetto"
/** A piece is returned once it is this full. */
const CHUNK_BYTES = 64 * 1024

/** One encoder for one trace. */
export const perfettoEncoder = (): TraceEncoder => new PerfettoEncoder()

class PerfettoEncoder implements TraceEncoder {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #packets: Uint8Array[] = []
  #bytes = 0
  #header: TraceHeader | undefined
  /** µs since the Unix epoch: the start of the window, and the present. */
  #start: number | undefined
  #now = 0
  #lives = 0
  readonly #byPlace = new Map<string, ObjectLife>()
  readonly #byUid = new Map<string, ObjectLife>()
  readonly #write = (packet: Uint8Array): void => {
    this.#packets.push(packet)
    this.#bytes += packet.length
  }
  readonly #placement = new Placement((owner, namespace) => this.#ownerOf(owner, namespace), this.#write)
  readonly #listed = new TracedLives(this.#placement, this.#write)
  readonly #missing = new MissingLanes(this.#write)

  add(item: TraceItem): void {
    if (item.type === "header") {
      this.#header = item
      // A window from 0 on selects a whole recording, which begins with its first item.
      if (item.window !== undefined && item.window.start > 0) this.#begin(item.window.start)
      return
    }
    if (this.#header === undefined) throw withoutHeader()
    if (item.type === "batch") this.#advance(item.time)
    else if (item.type === "lifecycles") this.#listed.draw(item, this.#beginning(), this.#end())
    else if (item.type === "event") {
      if (item.event.type === "gap") this.#gap(item.event)
      else this.#object(item.event, item.isSnapshot)
    }
  }

  take(): Uint8Array | undefined {
    return this.#bytes >= CHUNK_BYTES ? this.#taken() : undefined
  }

  *finish(): Generator<Uint8Array> {
    if (this.#header === undefined) throw withoutHeader()
    const end = this.#end()
    this.#beginning()
    this.#placement.expire(Number.POSITIVE_INFINITY)
    for (const life of this.#byPlace.values()) {
      life.end(end, "exists at the end of the trace")
      this.#placement.release(life)
      if (this.#bytes >= CHUNK_BYTES) yield this.#taken()
    }
    this.#missing.incomplete(this.#header.incomplete, this.#beginning(), end)
    yield this.#taken()
  }

  #object(event: ObjectEvent, isSnapshot: boolean): void {
    // What existed at the start has the time of its last change.
    if (!isSnapshot || this.#start === undefined) this.#advance(event.time)
    // The owners of the start come in any order.
    if (!isSnapshot) this.#placement.expire(this.#now)
    const key = placeKey(event.gvk, event.namespace, event.name)
    const object = objectOf(event, VIEW)
    guarded(event, VIEW, () => {
      let life = this.#byPlace.get(key)
      if (life !== undefined && life.uid !== event.uid && life.uid !== "" && event.uid !== "") {
        // A deletion of an object that is no longer there says nothing about the one that has its name now.
        if (event.action !== "applied") return
        this.#remove(key, life, "replaced by another object of its name")
        life = undefined
      }
      if (event.action === "applied") this.#applied(key, life, event, object)
      else {
        const how = event.action === "deleted" ? "deleted" : "deleted at an unknown time: a list no longer had it"
        this.#remove(key, life ?? this.#added(key, event, object), how, object)
      }
    })
  }

  #applied(key: string, life: ObjectLife | undefined, event: ObjectEvent, object: JsonObject | undefined): void {
    if (life === undefined) this.#added(key, event, object)
    else if (object !== undefined) life.observe(object, this.#now)
  }

  #added(key: string, event: ObjectEvent, object: JsonObject | undefined): ObjectLife {
    const life = new ObjectLife(event, object, this.#lives++, this.#write)
    this.#byPlace.set(key, life)
    if (life.uid !== "") this.#byUid.set(life.uid, life)
    this.#placement.add(life, this.#now)
    life.begin(object, this.#now)
    return life
  }

  #remove(key: string, life: ObjectLife, how: string, object?: JsonObject): void {
    life.end(this.#now, how, object)
    this.#byPlace.delete(key)
    if (this.#byUid.get(life.uid) === life) this.#byUid.delete(life.uid)
    this.#placement.release(life)
  }

  #gap(gap: GapEvent): void {
    this.#advance(gap.time)
    this.#missing.gap(gap, this.#beginning())
  }

  #ownerOf({ gvk, name, uid }: OwnerName, namespace: string): ObjectLife | undefined {
    const known = uid === "" ? undefined : this.#byUid.get(uid)
    if (known !== undefined) return known
    for (const place of [namespace, ""]) {
      const life = this.#byPlace.get(placeKey(gvk, place, name))
      // Two UIDs are two objects.
      if (life !== undefined && (uid === "" || life.uid === "")) return life
    }
    return undefined
  }

  #begin(time: number): void {
    // The format has no times before 1970.
    this.#start = Math.max(0, time)
    this.#now = this.#start
    this.#write(firstPacket(this.#start))
  }

  /** Events are in the order of their times; one that is not is drawn at the time of the one before it. */
  #advance(time: number): void {
    if (this.#start === undefined) this.#begin(time)
    this.#now = Math.max(this.#now, time)
  }

  /** A trace without anything still has a beginning. */
  #beginning(): number {
    if (this.#start === undefined) this.#begin(0)
    return this.#start ?? 0
  }

  #end(): number {
    return Math.max(this.#now, this.#header?.window?.end ?? 0)
  }

  #taken(): Uint8Array {
    const piece = Buffer.concat(this.#packets)
    this.#packets.length = 0
    this.#bytes = 0
    return piece
  }
}

const withoutHeader = (): UnwritableTraceError =>
  new UnwritableTraceError({ format: VIEW, detail: "the trace does not begin with its header" })
