/**
 * One watch of a module that keeps a checkpoint: what the guest gets beside the rows of the hub, and what is entered of them.
 *
 * A watch from the beginning brings the present state by itself. A guest that lists by a request and watches from the list's version gets from
 * the hub only what follows; then the state comes in a second subscription, the census, of which the guest gets nothing but the deletions that
 * it shows.
 */

import type { ApiObject, Metadata } from "../../../kube/client/objects.ts"
import { JsonBytes } from "../../../kube/scanner/json/json-bytes.ts"
import { readMembers } from "../../../kube/scanner/object/canonical-json.ts"
import { keyOf } from "../../cache/object-cache.ts"
import type { KnownObject, KnownObjects } from "../../checkpoint/known-objects.ts"
import { StateComparison } from "../../checkpoint/state-comparison.ts"
import type { WatchRequest } from "../../guest/abi-values.ts"
import type { HubChange } from "../../hub/hub-change.ts"

/** A row for the guest, once it is durable. */
export interface EnteredRow extends HubChange {
  /** Of a deletion: the generation with which the object is to be forgotten. */
  readonly generation?: number
}

export class WatchProgress {
  readonly known: KnownObjects
  #comparison: StateComparison | undefined
  #hasBegun = false

  constructor(known: KnownObjects) {
    this.known = known
  }

  /** Enters a row of the watch; returns what the guest gets, in order. `isCensus`: the watch brings the present state. */
  row(change: HubChange, isCensus: boolean): ReadonlyArray<EnteredRow> {
    this.#begin()
    switch (change.type) {
      case "added":
      case "modified":
        return [...this.#present(change), change]
      case "deleted":
        this.#comparison?.ended(change.uid)
        return [{ ...change, generation: this.known.gone(change.uid) }]
      case "synced":
        return isCensus ? [...this.#completed(change), change] : [change]
      default:
        return [change]
    }
  }

  /** Enters a row of the census; returns the deletions that it shows. */
  ofCensus(change: HubChange): ReadonlyArray<EnteredRow> {
    this.#begin()
    if (change.type === "synced") return this.#completed(change)
    if (change.type !== "added" && change.type !== "modified") return []
    // The watch is further than the census.
    return this.#comparison?.hasEnded(change.uid) === true ? [] : this.#present(change)
  }

  /** With the first row, not when the guest asks for the watch: all rows are parsed, and the guest's time is limited. */
  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#comparison = new StateComparison(this.known.all())
  }

  #present(change: HubChange): ReadonlyArray<EnteredRow> {
    const former = this.#comparison?.seen(change.key, change.uid) ?? []
    this.known.know(objectOf(change.bytes))
    return this.#deletions(former, change.version)
  }

  #completed({ version }: HubChange): ReadonlyArray<EnteredRow> {
    const gone = this.#comparison?.completed() ?? []
    this.#comparison = undefined
    return this.#deletions(gone, version)
  }

  #deletions(gone: ReadonlyArray<KnownObject>, version: string): ReadonlyArray<EnteredRow> {
    return gone.map((object) => {
      const { uid } = object.metadata
      const generation = this.known.gone(uid)
      // A guest takes the version of what it is told last for its progress.
      const metadata = { ...object.metadata, resourceVersion: version }
      const bytes = Buffer.from(JSON.stringify({ ...object, metadata }))
      return { type: "deleted", key: keyOf(object), uid, version, bytes, isFinalStateUnknown: true, generation }
    })
  }
}

/** What the guest selects; equal for equal selections. */
export const selectionName = (request: WatchRequest): string => {
  const { apiVersion, kind, namespace = "", labelSelector = "", fieldSelector = "" } = request
  return JSON.stringify([apiVersion, kind, namespace, labelSelector, fieldSelector])
}

/** Whether the hub begins the watch with the present state. */
export const isFromBeginning = ({ resourceVersion }: WatchRequest): boolean =>
  resourceVersion === "" || resourceVersion === "0"

const json = new JsonBytes()

/** Only what is kept is parsed: the metadata is a small part of most objects. */
const objectOf = (bytes: Buffer): ApiObject => {
  if (!json.load(bytes, bytes.length)) throw new Error("an object of the hub is no JSON object")
  const members = readMembers(json, 0)
  const text = (name: string): string => {
    const member = members.findLast(({ key }) => key === name)
    if (member === undefined) throw new Error(`an object of the hub has no ${name}`)
    return bytes.toString("utf8", member.valueStart, member.end)
  }
  return {
    apiVersion: String(JSON.parse(text("apiVersion"))),
    kind: String(JSON.parse(text("kind"))),
    metadata: JSON.parse(text("metadata")) as Metadata,
  }
}
