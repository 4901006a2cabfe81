/**
 * The kinds that a server serves, by path or by name. Kinds can be added and removed at runtime, as
 * CustomResourceDefinitions are.
 */

import * as Schema from "effect/Schema"
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"

/** One kind and how it is reached. */
export interface Resource {
  readonly gvk: GroupVersionKind
  /** The path segment, lower case: `deployments`. Also the name that faults and the request log use. */
  readonly plural: string
  /** As in `kubectl get deployment`. Default: the kind in lower case. */
  readonly singular?: string
  readonly namespaced: boolean
  /** The verbs that discovery lists and the router allows. Default: all eight verbs of a stored kind. */
  readonly verbs?: ReadonlyArray<string>
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  /** The served subresources; listed in discovery as `plural/status`. */
  readonly subresources?: ReadonlyArray<Subresource>
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
  /** `additionalPrinterColumns` of a custom kind. Default: its age. */
  readonly printerColumns?: ReadonlyArray<PrinterColumn>
  /** Paths of a custom kind's `selectableFields`, as field selectors name them: `spec.color`. Default none. */
  readonly selectableFields?: ReadonlyArray<string>
  /**
   * The version in which the real server stores the kind, if it is an older one; visible only in discovery's
   * storageVersionHash. Default: the version of the kind.
   */
  readonly storageVersion?: string
  /** Another kind as which the objects are stored: this one is a second view of them. Default: stored as this kind. */
  readonly storedAs?: StoredAs
  /** Text of a `Warning` that every response about the kind carries. Default none. */
  readonly deprecationWarning?: string
  /** The paths of the values that a custom kind's `scale` shows. Absent for built-in kinds, whose paths are known. */
  readonly scalePaths?: ScalePaths
}

export type Subresource = "approval" | "binding" | "eviction" | "finalize" | "scale" | "status" | "token"

/** One of a CustomResourceDefinition's `additionalPrinterColumns`. */
export interface PrinterColumn {
  readonly name: string
  /** `string`, `integer`, `number`, `boolean` or `date`. */
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  /** 0, the default, is always shown; higher ones with `-o wide`. */
  readonly priority?: number
}

/**
 * How one stored object is served as two kinds: `Event` of v1 and of events.k8s.io/v1, the versions of a custom kind.
 * Both functions take and return whole objects with `apiVersion` and `kind` and do not change their argument.
 */
export interface StoredAs {
  readonly gvk: GroupVersionKind
  readonly toStored: (object: JsonObject) => JsonObject
  readonly fromStored: (object: JsonObject) => JsonObject
}

export type JsonObject = Readonly<Record<string, unknown>>

/** JSON paths without brackets (`.spec.replicas`), as a CustomResourceDefinition gives them. */
export interface ScalePaths {
  readonly specReplicas: string
  readonly statusReplicas: string
  /** A selector in its text form; absent for none. */
  readonly labelSelector?: string
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

/**
 * The kinds of a read-only server: the verbs that read, and `status` and `scale` as the only subresources. Kinds that
 * can only be created (reviews, Binding) are omitted.
 */
export const readOnlyKinds = (resources: Iterable<Resource>): ReadonlyArray<Resource> =>
  Array.from(resources, (resource) => ({
    ...resource,
    verbs: verbsOf(resource).filter((verb) => reads.has(verb)),
    subresources: (resource.subresources ?? []).filter((name) => name === "status" || name === "scale"),
  })).filter(({ verbs }) => verbs.length > 0)

const reads: ReadonlySet<string> = new Set(["get", "list", "watch"])

/** The name of a resource in error messages: `deployments.apps`, or `pods` for the core group. */
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

  has(gvk: GvkName): boolean {
    return this.#byGvk.has(gvkName(gvk))
  }

  /** In order of registration. */
  all(): ReadonlyArray<Resource> {
    return [...this.#byGvk.values()]
  }
}

// Errors of a registry of kinds. They are mistakes of the calling program, so they are thrown; mistakes of HTTP clients
// get a {@link Failure} instead (answers/failure.ts).

/** A kind that is neither built in nor registered. */
export class UnknownKindError extends Schema.TaggedError<UnknownKindError>()("UnknownKindError", {
  gvk: Schema.String,
}) {
  override get message(): string {
    return `the kind ${this.gvk} is not served; register it first`
  }
}

/** A kind or a path that is already served by another registration. */
export class KindConflictError extends Schema.TaggedError<KindConflictError>()("KindConflictError", {
  gvk: Schema.String,
  plural: Schema.String,
}) {
  override get message(): string {
    return `the kind ${this.gvk} or the path of ${this.plural} is already served; unregister it first`
  }
}
