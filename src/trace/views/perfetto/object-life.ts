/**
 * One object from when the trace first shows it until it is gone: a slice for its life, instants for changes of what is wanted of it, and for
 * a pod what it did (pod-lanes.ts).
 *
 * Where its track belongs in the tree may be known only later, when its owner is seen. Until then its packets are held.
 */
import type { ObjectEvent } from "../../event.ts"
import { differencesBetween } from "../../json/difference.ts"
import {
  formatExactJson,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  withProperty,
} from "../../json/exact-json.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import { podKind } from "../../pods/pod-lives-kind.ts"
import { memberIn, textIn } from "../trace-object.ts"
import type { Lane } from "./lanes.ts"
import { controllingOwner, type OwnerName } from "./owner-names.ts"
import { trackPacket } from "./packets.ts"
import { PodLanes } from "./pod-lanes.ts"
import { type PacketWriter, Track, trackUuid } from "./tracks.ts"

/** Fields that an instant names; a roll-out changes a handful. */
const MOST_FIELDS = 20

/** Members of an object that do not say what is wanted of it. */
const notWanted: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"])

/** The object at the top of an owner chain. */
export interface Root {
  /** The same for all that it owns. */
  readonly identity: string
  readonly label: string
  /** Its lane in the namespace of whoever has this root. */
  readonly lane: Lane
}

/** An object that is alive, or whose packets are still held. */
export class ObjectLife {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** The empty string in traces without UIDs. */
  readonly uid: string
  /** `Pod/web-0`. */
  readonly label: string
  readonly owner: OwnerName | undefined
  readonly #write: PacketWriter
  /** `undefined`: nothing is held any more. */
  #held: Uint8Array[] | undefined = []
  #root: Root | undefined
  #track: Track
  #wanted = "{}"
  #isEnding = false
  #node: string | undefined
  #pod: PodLanes | undefined

  /** @param number unique in the trace */
  constructor(event: ObjectEvent, object: JsonObject | undefined, number: number, write: PacketWriter) {
    this.gvk = event.gvk
    this.namespace = event.namespace
    this.name = event.name
    this.uid = event.uid
    this.label = labelOf(event)
    this.owner = object === undefined ? undefined : controllingOwner(object, event.uid)
    this.#write = write
    this.#track = new Track(trackUuid(`object ${number}`), (packet) => this.#emit(packet))
  }

  /** `undefined` while it is not known. */
  get root(): Root | undefined {
    return this.#root
  }

  /** It has no owner: it is drawn on the lane itself. Nothing may have been drawn before. */
  placeOn(root: Root): void {
    this.#root = root
    this.#held = undefined
    this.#track = root.lane.track
  }

  /** Puts its track below the lane of the object at the top of its chain, and writes what was held. */
  placeBelow(root: Root): void {
    this.#root = root
    const parent = root.lane.track.uuid
    this.#write(trackPacket({ uuid: this.#track.uuid, parent, name: this.label, children: "by time" }))
    for (const packet of this.#held ?? []) this.#write(packet)
    this.#held = undefined
  }

  /** Begins the life. Times are µs since the Unix epoch. */
  begin(object: JsonObject | undefined, time: number): void {
    this.#track.begin(time, this.name === "" ? this.label : this.name, {
      kind: this.gvk,
      namespace: this.namespace === "" ? undefined : this.namespace,
      name: this.name,
      uid: this.uid === "" ? undefined : this.uid,
      created: textIn(memberIn(object, "metadata"), "creationTimestamp"),
      owner: this.owner === undefined ? undefined : labelOf({ gvk: this.owner.gvk, name: this.owner.name }),
    })
    if (object === undefined) return
    this.#wanted = formatExactJson(wantedOf(object))
    this.#node = nodeOf(object)
    if (this.gvk === podKind) this.#pod = new PodLanes(this.#track, (packet) => this.#emit(packet), time)
    this.#pod?.observe(object, time)
    this.#showDeletion(object, time)
  }

  /** Draws what another state of the object shows. Throws what {@link formatExactJson} does. */
  observe(object: JsonObject, time: number): void {
    const wanted = wantedOf(object)
    const text = formatExactJson(wanted)
    if (text !== this.#wanted) this.#showChange(parseExactJson(this.#wanted), wanted, time)
    this.#wanted = text
    this.#node = nodeOf(object) ?? this.#node
    this.#showDeletion(object, time)
    this.#pod?.observe(object, time)
  }

  /** Ends the life. `how`: why, for people. */
  end(time: number, how: string, object?: JsonObject): void {
    if (object !== undefined) this.#pod?.observe(object, time)
    this.#pod?.end(time)
    this.#track.end(time, { end: how, node: this.#node })
  }

  #showChange(before: JsonValue, after: JsonObject, time: number): void {
    const fields = differencesBetween(before, after, { maximum: MOST_FIELDS + 1 }).map(({ path }) => path)
    const [first] = fields
    // The order of members may differ, and no more.
    if (first === undefined) return
    const named = fields.slice(0, MOST_FIELDS).join(", ")
    this.#track.instant(time, fields.length === 1 ? `changed ${first}` : `changed ${first} and more`, {
      fields: fields.length > MOST_FIELDS ? `${named}, and more` : named,
    })
  }

  #showDeletion(object: JsonObject, time: number): void {
    const requested = textIn(memberIn(object, "metadata"), "deletionTimestamp")
    if (requested === undefined || this.#isEnding) return
    this.#isEnding = true
    this.#track.instant(time, "deletion requested", { by: requested })
  }

  #emit(packet: Uint8Array): void {
    if (this.#held === undefined) this.#write(packet)
    else this.#held.push(packet)
  }
}

/** `Deployment/web`. */
export const labelOf = ({ gvk, name }: { readonly gvk: string; readonly name: string }): string => {
  const groupKind = groupKindOf(gvk)
  return `${groupKind.slice(groupKind.indexOf("/") + 1)}/${name}`
}

/** Only pods have one there. */
const nodeOf = (object: JsonObject): string | undefined => textIn(memberIn(object, "spec"), "nodeName")

const wantedOf = (object: JsonObject): JsonObject => {
  let wanted: Record<string, JsonValue> = {}
  for (const key of Object.keys(object))
    if (!notWanted.has(key)) wanted = withProperty(wanted, key, object[key] as JsonValue)
  return wanted
}
