/**
 * Dispatches the writes of clients. Synchronous from decoded request to stored change, so that writes happen one after
 * the other and need no locks; when this returns, events have been written to the watchers' sockets. A write that admission
 * webhooks are asked about is so in each of its attempts (webhooks/admitted.ts).
 */

import { type Failure, fail, internalError, methodNotAllowed } from "../../apiserver/answers/failure.ts"
import type { Eventually } from "../../apiserver/eventually.ts"
import { troubleOf } from "../../apiserver/http/trouble.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import { keyOf } from "../../apiserver/watch/change.ts"
import { formatGvk } from "../../kube/gvk.ts"
import { messageOf } from "../../message-of.ts"
import { ApplyConflict, PatchError } from "../patch/patch-failure.ts"
import { withJsonBody } from "../protobuf/protobuf-body.ts"
import { deleteOne } from "./delete/delete.ts"
import { deleteCollection } from "./delete/delete-collection.ts"
import { Refusal, refuse } from "./refusal.ts"
import { bindPod } from "./subresources/pod-subresources.ts"
import { isReview, review } from "./subresources/reviews.ts"
import { readSubresource, writeSubresource } from "./subresources/subresources.ts"
import type { WriteSurroundings } from "./surroundings.ts"
import { create } from "./verbs/create.ts"
import { patch } from "./verbs/patch.ts"
import { update } from "./verbs/update.ts"
import { admitted, Suspension } from "./webhooks/admitted.ts"
import { parseWriteOptions } from "./write-options.ts"
import type { WriteOutcome, WriteRequest, Written } from "./write-request.ts"

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
