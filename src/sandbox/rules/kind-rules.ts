/**
 * What the API server does with an object of one kind between decoding it and storing it: fill in defaults, take away
 * what a client may not set, and say what is wrong. Modelled on the strategies of Kubernetes 1.34.4.
 *
 * Order of a create: `setDefaults`, admission (admission.ts), metadata filled in by the server (uid, creationTimestamp,
 * a generated name), `prepareForCreate`, `validate`, allocation (service-allocation.ts). Order of an update: `setDefaults`,
 * `prepareForUpdate`, `validateUpdate`. Rules change the object they are given in place, and may take over subtrees of
 * `old`; they keep nothing between calls, so one value serves any number of requests. No rule throws for whatever JSON
 * it is given: what has the wrong type was refused by the decoder, and is passed over here.
 */

import type { FieldError } from "../../apiserver/answers/field-error.ts"

/** A JSON object that rules may change. */
export type Fields = Record<string, unknown>

/** A whole Kubernetes object; `metadata` is always there, as the decoder makes it. */
export interface MutableObject extends Fields {
  metadata: Fields
}

/** Which endpoint an update came through; empty for the object itself. */
export type Subresource = "" | "status" | "scale"

/** The rules of one kind. */
export interface KindRules {
  /** Fills in what the client left out. Idempotent. Runs for objects read from a client, before anything else. */
  setDefaults(object: MutableObject): void
  /** `metadata.uid` must be set: a Job's selector is made of it. */
  prepareForCreate(object: MutableObject): void
  /**
   * Takes over from `old` what this endpoint does not change, and counts the generation. The server's own metadata
   * (uid, creationTimestamp, deletionTimestamp) is taken over where the client left it out, so that only a contradiction
   * is an error.
   */
  prepareForUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): void
  /** Between {@link prepareForUpdate} and the validation: what the server changes once the owners of fields are noted. */
  settleUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): void
  /**
   * Fills in what the server stores without and gives to whoever reads the object, as its defaults run again then. Answers
   * whether there was anything: the next write then stores the object, even if it changes nothing.
   */
  readBack(object: MutableObject): boolean
  /** In the server's order; empty when the object may be stored. */
  validate(object: MutableObject): ReadonlyArray<FieldError>
  /** The object must have been prepared. In the server's order; empty when it may replace `old`. */
  validateUpdate(object: MutableObject, old: MutableObject, subresource: Subresource): ReadonlyArray<FieldError>
}
