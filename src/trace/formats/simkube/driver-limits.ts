/**
 * Kinds that SimKube's format can represent and its driver cannot replay: it takes every object to be in a namespace (W-22), changes
 * ReplicaSets where they have no template (W-20), and creates a template at each configured path where none is (W-45).
 *
 * Memory: a few words for each kind.
 */

import { isJsonObject, type JsonObject } from "../../json/exact-json.ts"
import { changedAt, pathOf } from "../../json/extended-pointer.ts"
import { DEFAULT_TEMPLATE_PATHS, type TrackedObjects } from "./simkube-config.ts"

const replicaSet = "apps/v1.ReplicaSet"

/** Show it objects of the trace, as many as are at hand. */
export class DriverLimits {
  readonly #clusterScoped = new Set<string>()
  /** Custom kinds: the paths at which no object has had a template so far. */
  readonly #unfounded = new Map<string, Set<string>>()
  readonly #paths: ReadonlyMap<string, ReadonlyArray<string>>
  #hasReplicaSet = false

  constructor(trackedObjects: TrackedObjects) {
    this.#paths = new Map(
      [...trackedObjects].flatMap(([gvk, { podSpecTemplatePaths }]) =>
        DEFAULT_TEMPLATE_PATHS.has(gvk) ? [] : [[gvk, podSpecTemplatePaths]],
      ),
    )
  }

  /** Whether an object of this kind could add anything to {@link warnings}. */
  concerns(gvk: string): boolean {
    return gvk === replicaSet || this.#paths.has(gvk)
  }

  /** An object of the trace that has no owner in it. */
  observe(gvk: string, namespace: string, object: JsonObject): void {
    if (gvk === replicaSet) this.#hasReplicaSet = true
    const paths = this.#paths.get(gvk)
    if (paths === undefined) return
    if (namespace === "") this.#clusterScoped.add(gvk)
    const unfounded = this.#unfounded.get(gvk) ?? new Set(paths)
    this.#unfounded.set(gvk, unfounded)
    for (const path of unfounded) if (hasTemplateAt(object, path)) unfounded.delete(path)
  }

  /** For people: what is wrong with which kind. */
  get warnings(): ReadonlyArray<string> {
    const warnings = [...this.#clusterScoped].map(
      (gvk) => `SimKube's driver ends at the first ${gvk}, because it is cluster-scoped`,
    )
    if (this.#hasReplicaSet)
      warnings.push(
        `SimKube's driver ends at the first ${replicaSet}, because it looks for its pod template in the wrong place`,
      )
    for (const [gvk, paths] of this.#unfounded)
      for (const path of paths)
        warnings.push(`SimKube's driver adds a pod template to ${gvk} at ${path}, where its objects have none`)
    return warnings
  }
}

const hasTemplateAt = (object: JsonObject, path: string): boolean => {
  let isFound = false
  changedAt(object, pathOf(path), (template) => {
    isFound ||= isJsonObject(template.spec) && Array.isArray(template.spec.containers)
    return template
  })
  return isFound
}
