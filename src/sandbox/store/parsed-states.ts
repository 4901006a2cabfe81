/**
 * The decoded objects of the states that clients wrote last: the next write to such an object need not parse it again,
 * which was a fifth of a patch's cost.
 *
 * An object is handed out only once, so it is as good as newly parsed: the caller may change it, and if that write fails,
 * the next one parses the state.
 *
 * Bounded by the JSON size of the kept objects; the oldest are dropped first. Decoded JSON takes some five times its text.
 */

import type { Resource } from "../../apiserver/kinds/resources.ts"
import { type Change, parseObject } from "../../apiserver/watch/change.ts"
import { apiVersionOf } from "../../kube/gvk.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import { isOmitted } from "./object-encoding.ts"

/** Bytes of JSON: some 10 MB decoded. */
const keptBytes = 2 * 1024 * 1024

export class ParsedStates {
  readonly #objects = new Map<Change, MutableObject>()
  #bytes = 0

  /** The object of a state, without any other reference to it. */
  take(change: Change): MutableObject {
    const object = this.#objects.get(change)
    if (object === undefined) return parseObject(change) as unknown as MutableObject
    this.forget(change)
    return object
  }

  /** `change` was encoded from the object. Not for custom kinds: their keys are sorted as they are encoded. */
  keep(resource: Resource, change: Change, object: MutableObject): void {
    if (resource.custom === true) return
    this.#objects.set(change, asEncoded(resource, change, object))
    this.#bytes += change.line.length
    for (const oldest of this.#objects.keys()) {
      if (this.#bytes <= keptBytes) break
      this.forget(oldest)
    }
  }

  forget(change: Change): void {
    if (this.#objects.delete(change)) this.#bytes -= change.line.length
  }
}

/** The object as decoding would yield it: without undefined members, and with the state's version. */
const asEncoded = ({ gvk }: Resource, { revision }: Change, object: MutableObject): MutableObject => {
  const metadata: Record<string, unknown> = {}
  for (const key of Object.keys(object.metadata)) {
    const value = object.metadata[key]
    if (!isOmitted(value)) metadata[key] = value
  }
  metadata.resourceVersion = String(revision)
  const state: Record<string, unknown> = { kind: gvk.kind, apiVersion: apiVersionOf(gvk), metadata }
  for (const key of Object.keys(object)) {
    if (object[key] !== undefined && !Object.hasOwn(state, key)) state[key] = object[key]
  }
  return state as unknown as MutableObject
}
