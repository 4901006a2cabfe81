/**
 * The rules of one kind between decoding and storing an object: fill in defaults, remove what a client may not set,
 * and validate. Modelled on the strategies of Kubernetes 1.34.4.
 *
 * Order of a create: `setDefaults`, admission (admission.ts), metadata filled in by the server (uid, creationTimestamp, a
 * generated name), `prepareForCreate`, `validate`, allocation (service-allocation.ts). Order of an update: `setDefaults`,
 * `prepareForUpdate`, `validateUpdate`. Rules change the object they are given in place, and may take over subtrees of
 * `old`; they keep nothing between calls, so one value serves any number of requests. No rule throws, whatever the JSON:
 * values of the wrong type were refused by the decoder and are ignored here.
 */

import type { FieldError } from "../../apiserver/answers/field-error.ts"

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
  /** In the server's order; empty when the object may be stored. */
  validate(object: MutableObject): ReadonlyArray<FieldError>
  /** The object must have been prepared. In the server's order; empty when it may replace `old`. */
  validateUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): ReadonlyArray<FieldError>
}
