/**
 * The kinds a server serves, found by path or by name. Kinds come and go at runtime, as CustomResourceDefinitions do.
 */

import { formatGvk, type GroupVersionKind, parseGvk } from "../kube/gvk.ts"
import { KindConflictError, UnknownKindError } from "./errors.ts"

/** One kind and how it is reached. */
export interface Resource {
  readonly gvk: GroupVersionKind
  /** The path segment, lower case: `deployments`. Also the name that faults and the request log use. */
  readonly plural: string
  readonly namespaced: boolean
  /** What discovery lists and the router allows. Default: all eight verbs of a stored kind. */
  readonly verbs?: ReadonlyArray<string>
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  /** Listed in discovery as `plural/status`; reading it answers the object. */
  readonly subresources?: ReadonlyArray<"status" | "scale">
  /**
   * Serve the kind as a CustomResourceDefinition's: keys sorted, list items with their apiVersion and kind, and a list
   * whose `metadata` comes after its items (measured against Kubernetes 1.34.4). Default false.
   */
  readonly custom?: boolean
  /**
   * Further members of the object inside a BOOKMARK, as JSON without the braces: built-in kinds are Go structs, whose
   * zero value is encoded. Default none.
   */
  readonly zeroValue?: string
}

/** A kind as an object or as `apps/v1.Deployment`. */
export type GvkName = GroupVersionKind | string

export const allVerbs: ReadonlyArray<string> = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
]

export const verbsOf = (resource: Resource): ReadonlyArray<string> => resource.verbs ?? allVerbs

/** `deployments.apps`, or `pods` for the core group: how error messages name a resource. */
export const qualifiedName = (resource: Resource): string =>
  resource.gvk.group === "" ? resource.plural : `${resource.plural}.${resource.gvk.group}`

/** `apps/v1.Deployment` of either spelling; throws {@link UnknownKindError} for text that names no kind. */
export const gvkName = (gvk: GvkName): string => {
  if (typeof gvk !== "string") return formatGvk(gvk)
  const parsed = parseGvk(gvk)
  if (parsed === undefined) throw new UnknownKindError({ gvk })
  return formatGvk(parsed)
}

const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`

/** The kinds served at this moment. */
export class ResourceRegistry {
  readonly #byPath = new Map<string, Resource>()
  readonly #byGvk = new Map<string, Resource>()

  constructor(resources: Iterable<Resource> = []) {
    for (const resource of resources) this.add(resource)
  }

  /** Throws {@link KindConflictError} when the kind or its path is taken. */
  add(resource: Resource): void {
    const gvk = formatGvk(resource.gvk)
    const path = pathOf(resource.gvk.group, resource.gvk.version, resource.plural)
    if (this.#byGvk.has(gvk) || this.#byPath.has(path)) throw new KindConflictError({ gvk, plural: resource.plural })
    this.#byGvk.set(gvk, resource)
    this.#byPath.set(path, resource)
  }

  remove(resource: Resource): void {
    this.#byGvk.delete(formatGvk(resource.gvk))
    this.#byPath.delete(pathOf(resource.gvk.group, resource.gvk.version, resource.plural))
  }

  at(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(pathOf(group, version, plural))
  }

  /** Throws {@link UnknownKindError}. */
  named(gvk: GvkName): Resource {
    const name = gvkName(gvk)
    const resource = this.#byGvk.get(name)
    if (resource === undefined) throw new UnknownKindError({ gvk: name })
    return resource
  }

  /** In order of registration. */
  all(): ReadonlyArray<Resource> {
    return [...this.#byGvk.values()]
  }
}
