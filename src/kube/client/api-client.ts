/**
 * The typed client of an API server. Every returned object carries its apiVersion and kind, even list items. Objects
 * are plain JSON, typed only as far as the caller declares; unknown members pass through. Watches: {@link
 * watchObjects}.
 */
import { collectionPath, type Kind, objectPath } from "../kinds/gvk.ts"
import { pagePath, type Selection, wholeListPath } from "../watch/streams/request.ts"
import { ApiConnection, bodyOf, type Call, type CallOptions, type ConnectionOptions } from "./api-connection.ts"
import { ExpiredError, type Question } from "./api-errors.ts"
import { apiVersionOfKind } from "./kinds.ts"
import type { ApiObject, ObjectBase } from "./objects.ts"

// The options of a write besides the object, and how they are sent.

/** The format of a PATCH body. */
export type PatchType = "json" | "merge" | "strategic-merge"

const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
}

interface WriteOptions extends CallOptions {
  /** Runs admission and validation and returns the outcome, but stores nothing. Default false. */
  readonly dryRun?: boolean
  /** The owner of the written fields. Default: derived by the server from the user agent. */
  readonly fieldManager?: string
  /** How unknown and repeated fields are treated. Default: the server's, which is `Warn`. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict"
  /**
   * The request may arrive twice, for example a review, which changes nothing: it is sent again if an idle connection turns out to be
   * closed. Default false; applies are always repeatable.
   */
  readonly isRepeatable?: boolean
  /** For example `status` or `scale`, where the method does not set it itself. */
  readonly subresource?: string
}

interface ApplyOptions extends WriteOptions {
  /** Required: fields that this manager set before and now leaves out are removed. */
  readonly fieldManager: string
  /** Takes fields over from other managers instead of failing. Default false. */
  readonly force?: boolean
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number
  /** Default: the kind's own, which is Background for nearly all. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan"
  /** Deletes only if the object still has this UID. */
  readonly uid?: string
  readonly resourceVersion?: string
  readonly dryRun?: boolean
}

/** The query with its question mark, or the empty string. */
const writeQuery = (
  { dryRun = false, fieldManager, fieldValidation }: WriteOptions,
  force: boolean | undefined = undefined,
): string => {
  const query = new URLSearchParams()
  if (dryRun) query.set("dryRun", "All")
  if (fieldManager !== undefined) query.set("fieldManager", fieldManager)
  if (fieldValidation !== undefined) query.set("fieldValidation", fieldValidation)
  if (force === true) query.set("force", "true")
  return query.size === 0 ? "" : `?${query}`
}

const deletionBody = ({ uid, resourceVersion, dryRun = false, signal: _, ...rest }: DeleteOptions): object => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  ...rest,
  ...(dryRun && { dryRun: ["All"] }),
  ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
})

/** The location of an object. An empty or absent namespace means a cluster-scoped kind. */
interface Place {
  readonly namespace?: string | undefined
  readonly name: string
}

/** Selects objects of a kind. */
interface CollectionOptions extends CallOptions {
  /** Default: all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export interface ListOptions extends CollectionOptions {
  /** Items per page. Default 500, as client-go's pager. */
  readonly limit?: number
  /** The returned state is not older than this version. Default: the latest, a consistent read. */
  readonly notOlderThan?: string
}

interface ObjectList<T> {
  readonly items: ReadonlyArray<T>
  /** The version at which a watch may start. The same for all pages of a list. */
  readonly resourceVersion: string
}

/** Write methods identify an object by its own metadata. Every method rejects with {@link ApiError}. */
export class ApiClient {
  readonly connection: ApiConnection

  constructor(options: ConnectionOptions) {
    this.connection = new ApiConnection(options)
  }

  /** One object, or a subresource such as `scale`. */
  get<T extends ObjectBase = ApiObject>(
    kind: Kind,
    place: Place,
    options: CallOptions & { subresource?: string } = {},
  ): Promise<T> {
    return this.#call<T>("get", kind, place, { method: "GET", path: pathOf(kind, place, options.subresource) }, options)
  }

  /**
   * All objects, page by page, as they were at one version. If the continue token expires half-way, the whole list is requested once more
   * without a limit, and is then of a later version.
   */
  async list<T extends ObjectBase = ApiObject>(kind: Kind, options: ListOptions = {}): Promise<ObjectList<T>> {
    const items: T[] = []
    let resourceVersion = ""
    try {
      for await (const page of this.pages<T>(kind, options)) {
        for (const item of page.items) items.push(item)
        resourceVersion = page.resourceVersion
      }
    } catch (error) {
      if (!(error instanceof ExpiredError) || items.length === 0) throw error
      const { next: _next, ...whole } = await this.#page<T>(
        kind,
        wholeListPath(selectionOf(kind, options), undefined),
        options,
      )
      return whole
    }
    return { items, resourceVersion }
  }

  /**
   * The same list one page at a time: memory is that of a page. Rejects with {@link ExpiredError} if the continue token expires before the
   * last page; the caller decides what to do with the earlier pages.
   */
  async *pages<T extends ObjectBase = ApiObject>(
    kind: Kind,
    options: ListOptions = {},
  ): AsyncGenerator<ObjectList<T>, void> {
    const { limit = 500, notOlderThan } = options
    const selection = selectionOf(kind, options)
    let token: string | undefined
    do {
      const { next, ...page } = await this.#page<T>(kind, pagePath(selection, limit, notOlderThan, token), options)
      yield page
      token = next
    } while (token !== undefined)
  }

  create<T extends ObjectBase = ApiObject>(kind: Kind, object: T, options: WriteOptions = {}): Promise<T> {
    const { name, ...metadata } = object.metadata
    // An empty name asks the server to generate one from generateName; it is left out, as in client-go.
    const body = name === "" ? { ...object, metadata } : object
    const path = collectionPath(kind, metadata.namespace) + writeQuery(options)
    const { isRepeatable } = options
    const request = { method: "POST", path, body: JSON.stringify(body), isRepeatable } as const
    return this.#call<T>("create", kind, object.metadata, request, options)
  }

  /** POSTs to a subresource: `binding` and `eviction` of a Pod, `token` of a ServiceAccount. Returns the server's response. */
  createSubresource<T = unknown>(
    kind: Kind,
    place: Place,
    subresource: string,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = objectPath(kind, place.namespace, place.name, subresource) + writeQuery(options)
    return this.#call<T>("create", kind, place, { method: "POST", path, body: JSON.stringify(body) }, options)
  }

  /** Rejects with {@link ConflictError} if the object has changed since, unless its `resourceVersion` is absent. */
  update<T extends ObjectBase = ApiObject>(kind: Kind, object: T, options: WriteOptions = {}): Promise<T> {
    const path = pathOf(kind, object.metadata, options.subresource) + writeQuery(options)
    return this.#call<T>(
      "update",
      kind,
      object.metadata,
      { method: "PUT", path, body: JSON.stringify(object) },
      options,
    )
  }

  /** The spec of the object given does not count; of its metadata, what counts depends on the kind (a Pod's labels do). */
  updateStatus<T extends ObjectBase = ApiObject>(kind: Kind, object: T, options: WriteOptions = {}): Promise<T> {
    return this.update(kind, object, { ...options, subresource: "status" })
  }

  /** `body`: the patch, or its JSON text, which is sent unchanged. Strategic merge is for built-in kinds only. */
  patch<T extends ObjectBase = ApiObject>(
    kind: Kind,
    place: Place,
    type: PatchType,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch<T>("patch", kind, place, patchContentTypes[type], body, writeQuery(options), options)
  }

  /**
   * Server-side apply: creates the object, or sets the given fields and removes those that this field manager set before and no longer
   * gives. Rejects with {@link ConflictError} if another manager owns one of the fields, unless `force` is set. `body`: the object, or its
   * JSON text, which is sent unchanged. For a subresource such as `status` the object must exist, and only that part of it is set.
   */
  apply<T extends ObjectBase = ApiObject>(
    kind: Kind,
    place: Place,
    body: unknown,
    options: ApplyOptions & { readonly subresource?: string },
  ): Promise<T> {
    const query = writeQuery(options, options.force)
    return this.#patch<T>("apply", kind, place, "application/apply-patch+yaml", body, query, options)
  }

  /** Returns the object if it still exists (finalizers, grace period), `undefined` if it is gone. */
  async delete<T extends ObjectBase = ApiObject>(
    kind: Kind,
    place: Place,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const path = objectPath(kind, place.namespace, place.name)
    const request = { method: "DELETE", path, body: JSON.stringify(deletionBody(options)) } as const
    const answer = await this.#call<T>("delete", kind, place, request, options)
    // A Status, or (Pods without grace period) the last state of the deleted object: in both cases it is gone.
    const livesOn = answer.kind === kind.gvk.kind && answer.metadata.deletionTimestamp !== undefined
    const isLast = livesOn && answer.metadata.deletionGracePeriodSeconds === 0 && !answer.metadata.finalizers?.length
    return livesOn && !isLast ? answer : undefined
  }

  /** Deletes what the selectors match, in one namespace: the server does not delete across all namespaces in one call. */
  async deleteCollection(
    kind: Kind,
    selected: CollectionOptions,
    options: Omit<DeleteOptions, "uid" | "resourceVersion"> = {},
  ): Promise<void> {
    const path = wholeListPath(selectionOf(kind, selected), undefined)
    const request = { method: "DELETE", path, body: JSON.stringify(deletionBody(options)) } as const
    const place = { namespace: selected.namespace, name: "" }
    await this.#call("deletecollection", kind, place, request, { ...selected, ...options })
  }

  /** Closes the connections; calls under way reject. */
  close(): void {
    this.connection.close()
  }

  async #page<T extends ObjectBase = ApiObject>(
    kind: Kind,
    path: string,
    options: ListOptions,
  ): Promise<ObjectList<T> & { readonly next: string | undefined }> {
    const place = { namespace: options.namespace, name: "" }
    // A page of the largest objects that etcd accepts would be 750 MB, more than a string can hold.
    const request = { method: "GET", path, maximumBytes: 512 * 1024 * 1024 } as const
    const { items, metadata } = await this.#call<ListPage<T>>("list", kind, place, request, options)
    const typed = (items ?? []).map((item) =>
      item.apiVersion === undefined || item.kind === undefined
        ? { ...item, apiVersion: apiVersionOfKind(kind), kind: kind.gvk.kind }
        : item,
    )
    const next = metadata.continue === "" ? undefined : metadata.continue
    return { items: typed, resourceVersion: metadata.resourceVersion ?? "", next }
  }

  #patch<T extends ObjectBase = ApiObject>(
    verb: "patch" | "apply",
    kind: Kind,
    place: Place,
    contentType: string,
    body: unknown,
    query: string,
    options: WriteOptions,
  ): Promise<T> {
    const path = pathOf(kind, place, options.subresource) + query
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const isRepeatable = verb === "apply" || options.isRepeatable
    return this.#call<T>(verb, kind, place, { method: "PATCH", path, contentType, body: text, isRepeatable }, options)
  }

  async #call<T>(
    verb: string,
    kind: Kind,
    { namespace = "", name }: Place,
    request: Omit<Call, "question">,
    options: CallOptions,
  ): Promise<T> {
    const { group, version, kind: kindName } = kind.gvk
    const named = `${group === "" ? version : `${group}/${version}`}.${kindName}`
    const question: Question = { verb, kind: named, namespace, name: name ?? "" }
    const call: Call = { ...request, question }
    return bodyOf<T>(call, await this.connection.call(call, options))
  }
}

interface ListPage<T> {
  readonly items?: ReadonlyArray<T> | null
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string }
}

const pathOf = (kind: Kind, { namespace, name }: Place, subresource: string | undefined): string =>
  objectPath(kind, namespace, name, subresource)

const selectionOf = (kind: Kind, { namespace, labelSelector, fieldSelector }: CollectionOptions): Selection => ({
  path: collectionPath(kind, namespace),
  labelSelector,
  fieldSelector,
})
