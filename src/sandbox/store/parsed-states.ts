/**
 * The objects of the states that clients wrote last, still decoded: whoever writes an object again need not have it parsed
 * again, which was a fifth of what a patch costs.
 *
 * An object is handed out once, so it is as good as parsed anew: whoever gets it may change it, and when nothing comes of
 * the write, the next one has the state parsed.
 *
 * Bounded by the JSON of what is kept, the oldest going first. Decoded JSON takes some five times its text.
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

  /** The object of a state, held by nobody else. */
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

/** What decoding would yield: no member without a value, and the version that the state got. */
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
