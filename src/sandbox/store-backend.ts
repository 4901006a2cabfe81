/** Lists and watches over the object store: the state or the changes for a request, or its 410 or 504. */
import {
  type Backend,
  bookmarkLine,
  type Change,
  type Eventually,
  encodeContinue,
  expiredContinue,
  expiredList,
  expiredWatch,
  type Failure,
  fail,
  internalError,
  keyOf,
  type ListAnswer,
  type ListRequest,
  listItem,
  methodNotAllowed,
  type OpenApiDocuments,
  objectFrame,
  pageOf,
  parseListRequest,
  type Resource,
  type ResourceRegistry,
  snapshotOf,
  tooLargeVersion,
  troubleOf,
  type WatchFeed,
  type WatchRequest,
  type WatchStream,
} from "../apiserver/index.ts"
import { formatGvk } from "../kube/offline.ts"
import { messageOf } from "../message-of.ts"
import { ApplyConflict, PatchError } from "./patch/patch-failure.ts"
import type { Collection } from "./store/collection.ts"
import type { ObjectStore } from "./store/object-store.ts"
import { Refusal, refuse } from "./store/refusal.ts"
import { withJsonBody } from "./writes/request/protobuf-body.ts"
import { parseDeleteOptions, parseWriteOptions } from "./writes/request/write-options.ts"
import type { WriteOutcome, WriteRequest, Written } from "./writes/request/write-request.ts"
import type { WriteSurroundings } from "./writes/surroundings.ts"
import { create } from "./writes/verbs/create.ts"
import { deleteObject, deleteOne, deletionWarnings } from "./writes/verbs/delete.ts"
import { patch } from "./writes/verbs/patch.ts"
import { bindPod } from "./writes/verbs/pod-subresources.ts"
import { isReview, review } from "./writes/verbs/reviews.ts"
import { readSubresource, unlistedSubresources, writeSubresource } from "./writes/verbs/subresources.ts"
import { update } from "./writes/verbs/update.ts"
import { admitted, Suspension } from "./writes/webhook-attempts.ts"
import { admitDeletion } from "./writes/webhook-points.ts"

export class StoreBackend implements Backend {
  readonly registry: ResourceRegistry
  readonly documents: OpenApiDocuments
  readonly unlistedSubresources = unlistedSubresources
  readonly #store: ObjectStore
  readonly #writer: Writer

  constructor(registry: ResourceRegistry, store: ObjectStore, writer: Writer, documents: OpenApiDocuments) {
    this.documents = documents
    this.registry = registry
    this.#store = store
    this.#writer = writer
  }

  /** At once, unless an admission webhook is asked; see {@link Writer}. */
  write(request: WriteRequest): Eventually<WriteOutcome> {
    return this.#writer.handle(request)
  }

  readSubresource(resource: Resource, namespace: string, name: string, subresource: string): WriteOutcome | undefined {
    return this.#writer.read(resource, namespace, name, subresource)
  }

  revision(): bigint {
    return this.#store.revision
  }

  *objectCounts(): Generator<readonly [resource: Resource, count: number]> {
    for (const { resource, live } of this.#store.collections()) yield [resource, live.size]
  }

  get(resource: Resource, namespace: string, name: string): Change | undefined {
    return this.#store.collection(resource.gvk).live.get(keyOf(namespace, name))?.change
  }

  list(resource: Resource, { state, limit, selection }: ListRequest): ListAnswer | Failure {
    const collection = this.#store.collection(resource.gvk)
    const current = this.#store.revision
    const page = (revision: bigint, start = ""): ListAnswer => ({
      type: "list",
      revision,
      ...pageOf(collection.snapshotAt(revision), selection, limit, start),
    })
    switch (state.type) {
      case "latest":
      case "any":
        return page(current)
      case "notOlderThan":
        return state.version > current ? tooLargeVersion(state.version, current) : page(current)
      case "exact":
        if (state.version > current) return tooLargeVersion(state.version, current)
        return state.version < collection.history.floor ? expiredList : page(state.version)
      case "continue": {
        const { revision, start } = state.token
        if (revision < 0n) return page(current, start)
        if (revision > current) return tooLargeVersion(revision, current)
        if (revision < collection.history.floor) return expiredContinue(encodeContinue({ revision: -1n, start }))
        return page(revision, start)
      }
    }
  }

  watch(resource: Resource, { start }: WatchRequest): WatchFeed | Failure {
    const collection = this.#store.collection(resource.gvk)
    const current = this.#store.revision
    if (start.type === "state") {
      if (start.notOlderThan > current) return tooLargeVersion(start.notOlderThan, current)
      return (stream) => this.#feedState(stream, collection, start.endBookmark)
    }
    const version = start.version ?? current
    // Not refused when ahead of the server: the real server accepts such a watch and stays silent.
    if (version < collection.history.floor) return expiredWatch(version, collection.history.floor)
    return (stream) => {
      stream.startAfter(version)
      for (const record of collection.history.after(version)) stream.deliver(record)
      return collection.listen((record) => stream.deliver(record))
    }
  }

  /** In the order of keys, as the real server does. */
  #feedState(stream: WatchStream, collection: Collection, endBookmark: boolean): () => unknown {
    const version = this.#store.revision
    const states = Array.from(collection.live.values(), ({ change }) => change)
    for (const change of snapshotOf(states).changes) stream.deliverState(change)
    if (endBookmark) stream.bookmark(version, bookmarkLine(stream.resource, version, true, this.#store.format), true)
    stream.startAfter(version)
    return collection.listen((record) => stream.deliver(record))
  }
}

// Dispatches the writes of clients. Synchronous from decoded request to stored change, so that writes happen one after
// the other and need no locks; when this returns, events have been written to the watchers' sockets. A write that
// admission webhooks are asked about is so in each of its attempts (webhook-attempts.ts).

// DELETE of a collection: every object that matches the selectors, one after the other.

/**
 * What the attempts of a deletion that webhooks are asked about share: each object is deleted as soon as they allow it.
 */
interface Progress {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  deleted: number
}

/** Responds with the list of matching objects as they were before. Throws Refusal. */
const deleteCollection = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, namespace, query } = request
  const kind = around.kindOf(resource)
  const wanted = parseListRequest(query, resource.namespaced && namespace !== "" ? namespace : undefined, resource)
  if ("type" in wanted) return refuse(wanted)
  const options = parseDeleteOptions(request, around.registry)
  warnings.push(...deletionWarnings(resource, options))
  const begin = (): Progress => {
    const { revision } = around.store
    return {
      revision,
      changes: pageOf(kind.collection.snapshotAt(revision), wanted.selection, 0, "").changes,
      deleted: 0,
    }
  }
  const progress = around.webhooks.areAny ? around.webhooks.once(begin) : begin()
  const { revision, changes } = progress
  const { before, after } = objectFrame(resource, { resourceVersion: revision })
  const items = changes.map((change) => Buffer.concat(listItem(change, resource)).toString("utf8"))
  for (const { namespace: at, name } of changes.slice(progress.deleted)) {
    const existing = kind.collection.live.get(keyOf(at, name))
    if (existing !== undefined)
      deleteObject(around, kind, existing, options, (stored) =>
        admitDeletion(around, kind, stored, "", options, warnings),
      )
    progress.deleted++
  }
  return { type: "written", status: 200, json: `${before}${items.join(",")}${after}`, warnings }
}

export class Writer {
  readonly #around: WriteSurroundings

  constructor(around: WriteSurroundings) {
    this.#around = around
  }

  /** Never throws: an exception becomes a 500 and is reported. */
  handle(request: WriteRequest): Eventually<WriteOutcome> {
    const { user, verb, name: pathName } = request
    const around = user === undefined ? this.#around : { ...this.#around, caller: { user, verb, pathName } }
    const outcome = admitted(around, (own) => this.#attempt(own, request))
    if (!(outcome instanceof Promise)) return outcome
    return outcome.catch((error: unknown) => failureOf(error) ?? this.#defect(request, error))
  }

  /** Throws Suspension. */
  #attempt(around: WriteSurroundings, request: WriteRequest): WriteOutcome {
    const warnings: string[] = []
    try {
      return perform(around, withJsonBody(request), warnings)
    } catch (error) {
      if (error instanceof Suspension) throw error
      const failure = failureOf(error) ?? this.#defect(request, error)
      return warnings.length === 0 ? failure : { ...failure, warnings }
    }
  }

  /** GET of a subresource; `undefined` if it is not served. Never throws. */
  read(resource: Resource, namespace: string, name: string, subresource: string): WriteOutcome | undefined {
    try {
      return readSubresource(this.#around, resource, namespace, name, subresource)
    } catch (error) {
      return failureOf(error) ?? this.#defect({ verb: "get", resource, namespace, name }, error)
    }
  }

  #defect(
    request: Pick<WriteRequest, "resource" | "namespace" | "name"> & { readonly verb: string },
    error: unknown,
  ): Failure {
    const { verb, resource, namespace, name } = request
    this.#around.onTrouble(troubleOf(`${verb} ${resource.plural} ${keyOf(namespace, name)}`, error))
    return internalError(messageOf(error))
  }
}

const perform = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { subresource, verb } = request
  // An approval is a write to the status, for which other rights are needed.
  if (subresource === "approval") return perform(around, { ...request, subresource: "status" }, warnings)
  if (subresource !== "" && subresource !== "status") return writeSubresource(around, request, warnings)
  if (subresource === "status" && verb !== "update" && verb !== "patch") return refuse(methodNotAllowed)
  switch (verb) {
    case "create":
      if (formatGvk(request.resource.gvk) === "v1.Binding") {
        return bindPod(around, request, parseWriteOptions(request, warnings))
      }
      if (isReview(request.resource)) return review(around, request, parseWriteOptions(request, warnings))
      return create(around, request, parseWriteOptions(request, warnings))
    case "update":
      return update(around, request, parseWriteOptions(request, warnings))
    case "patch":
      return patch(around, request, parseWriteOptions(request, warnings))
    case "delete":
      return deleteOne(around, request, warnings)
    case "deletecollection":
      return deleteCollection(around, request, warnings)
  }
}

/** The failure for an error that a patch throws, which has all that a Status needs; `undefined` for a defect. */
const failureOf = (error: unknown): Failure | undefined => {
  if (error instanceof Refusal) return error.failure
  if (error instanceof ApplyConflict) {
    const { code, reason, message } = error
    return fail(code, message, { reason, details: { causes: error.conflictCauses } })
  }
  if (error instanceof PatchError) {
    const { code, reason, message } = error
    return fail(code, message, { ...(reason && { reason }), ...(code === 422 && { details: {} }) })
  }
  return undefined
}
