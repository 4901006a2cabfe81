/**
 * What the sandbox does to an object of a kind between decoding and storing it: fill in defaults, remove what a client may not set,
 * and validate. Modelled on the strategies of Kubernetes 1.34.4.
 *
 * Order of a create: `setDefaults`, admission (writes/admission), metadata filled in by the server (uid, creationTimestamp, a
 * generated name), `prepareForCreate`, `validate`, allocation. Order of an update: `setDefaults`,
 * `prepareForUpdate`, `validateUpdate`. Rules change the object they are given in place, and may take over subtrees of
 * `old`; they keep nothing between calls, so one value serves any number of requests. No rule throws, whatever the JSON:
 * values of the wrong type were refused by the decoder and are ignored here.
 */

import type { FieldError } from "../../apiserver/index.ts"
import type { Complaints } from "../../kube/offline.ts"
import type { Place } from "./type-rules.ts"

/** A JSON object that rules may change. */
export type Fields = Record<string, unknown>

/** A whole Kubernetes object; `metadata` is always present: the decoder adds it. */
export interface MutableObject extends Fields {
  metadata: Fields
}

/** Which endpoint an update came through; empty for the object itself. */
export type Subresource = "" | "status" | "scale"

/** The rules of one kind. */
export interface KindRules {
  /** Fills in omitted fields. Idempotent. Runs for objects read from a client, before anything else. */
  setDefaults(object: MutableObject): void
  /** `metadata.uid` must be set: a Job's selector is made from it. */
  prepareForCreate(object: MutableObject): void
  /**
   * Copies from `old` what this endpoint does not change, and increments the generation. The server's own metadata (uid,
   * creationTimestamp, deletionTimestamp) is copied where the client omits it, so that only a contradiction is an error.
   */
  prepareForUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): void
  /** Between {@link prepareForUpdate} and the validation: what the server changes after field ownership has been recorded. */
  settleUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): void
  /**
   * Fills in defaults that the server does not store but adds on every read. Returns whether there were any: the next
   * write then stores the object, even if it changes nothing.
   */
  readBack(object: MutableObject): boolean
  /** Empty when the object may be stored. */
  validate(object: MutableObject): ReadonlyArray<FieldError>
  /** The object must have been prepared. Empty when it may replace `old`. */
  validateUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): ReadonlyArray<FieldError>
}

/** Adds what is wrong with a change to the errors of `root`, the place of the whole object. */
export type CheckChange = (object: MutableObject, old: MutableObject, root: Place) => void

/** What kinds.json says of a kind, besides the rules of its types (type-rules.ts). A kind without any gets those of every object. */
export interface StatedKind {
  /** A create takes the client's status (Nodes). */
  readonly takesStatus?: boolean
  /** Members whose change counts as a new generation; absent for kinds that have none. `metadata.x` is allowed. */
  readonly generation?: ReadonlyArray<string>
  /** Members of `metadata` that a write to the status cannot change. */
  readonly statusKeeps?: ReadonlyArray<string>
  /** Members that an update may not change: `immutable`, or `forbidden` or `invalid` with a detail. */
  readonly fixed?: Readonly<Record<string, string>>
  /** Whether an update may omit the resourceVersion. Default true. */
  readonly unconditionalUpdate?: boolean
}

/** How one kind differs from the others in ways that need code. All members are optional. */
export interface Kind extends StatedKind {
  /** The format of names. Default: a DNS-1123 subdomain. */
  readonly name?: (name: string) => Complaints
  /** What the status of a created object starts with, besides zero values; the client's is dropped. */
  readonly newStatus?: (object: MutableObject) => Fields
  /** Changes an object that is written; without `old` it is created. */
  readonly prepare?: (object: MutableObject, old: MutableObject | undefined) => void
  readonly prepareStatus?: (object: MutableObject, old: MutableObject) => void
  /** Changes an update of the object or of its status after field ownership has been recorded. */
  readonly settle?: (object: MutableObject, old: MutableObject, subresource: Subresource) => void
  /** See {@link KindRules}. */
  readonly readBack?: (object: MutableObject) => boolean
  readonly checkNew?: (object: MutableObject, root: Place) => void
  readonly checkChange?: CheckChange
  readonly checkStatus?: CheckChange
}
