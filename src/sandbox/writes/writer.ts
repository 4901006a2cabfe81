/**
 * Dispatches the writes of clients. Synchronous from decoded request to stored change, so that writes happen one after
 * the other and need no locks; when this returns, events have been written to the watchers' sockets. A write that admission
 * webhooks are asked about is so in each of its attempts (webhooks/admitted.ts).
 */

import type { Eventually } from "../../apiserver/answers/eventually.ts"
import { type Failure, fail, internalError, methodNotAllowed } from "../../apiserver/answers/failure.ts"
import { objectFrame } from "../../apiserver/forms/object-form.ts"
import { troubleOf } from "../../apiserver/http/trouble.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import { parseListRequest } from "../../apiserver/list/list-options.ts"
import { pageOf } from "../../apiserver/list/snapshot.ts"
import { type Change, keyOf, listItem } from "../../apiserver/watch/change.ts"
import { formatGvk } from "../../kube/gvk.ts"
import { messageOf } from "../../message-of.ts"
import { ApplyConflict, PatchError } from "../patch/patch-failure.ts"
import { withJsonBody } from "../protobuf/protobuf-body.ts"
import { deleteObject, deleteOne, deletionWarnings } from "./delete/delete.ts"
import { parseDeleteOptions } from "./delete/delete-options.ts"
import { Refusal, refuse } from "./refusal.ts"
import { bindPod } from "./subresources/pod-subresources.ts"
import { isReview, review } from "./subresources/reviews.ts"
import { readSubresource, writeSubresource } from "./subresources/subresources.ts"
import type { WriteSurroundings } from "./surroundings.ts"
import { create } from "./verbs/create.ts"
import { patch } from "./verbs/patch.ts"
import { update } from "./verbs/update.ts"
import { admitDeletion } from "./webhooks/admission-points.ts"
import { admitted, Suspension } from "./webhooks/admitted.ts"
import { parseWriteOptions } from "./write-options.ts"
import type { WriteOutcome, WriteRequest, Written } from "./write-request.ts"

// DELETE of a collection: every object that matches the selectors, one after the other.

/** What the attempts of a deletion that webhooks are asked about share: each object is deleted as soon as they allow it. */
interface Progress {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  deleted: number
}

/** Responds with the list of matching objects as they were before. Throws Refusal. */
const deleteCollection = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, namespace, query } = request
  const kind = around.kindOf(resource)
  const options = parseDeleteOptions(request, around.registry)
  warnings.push(...deletionWarnings(resource, options))
  const wanted = parseListRequest(query, resource.namespaced && namespace !== "" ? namespace : undefined, resource)
  if ("type" in wanted) return refuse(wanted)
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
