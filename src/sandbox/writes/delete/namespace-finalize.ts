/** `namespaces/x/finalize`: the only way to remove what blocks the deletion of a Namespace. */

import { objectNotFound } from "../../../apiserver/answers/failure.ts"
import { child, texts } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, withVersion } from "../../store/object-encoding.ts"
import { answerOf, stateOf } from "../answer.ts"
import { decodeBody } from "../body/body.ts"
import { trackReplacement } from "../field-owners.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { settleName } from "../verbs/create.ts"
import { admitAction } from "../webhooks/admission-points.ts"
import { modified } from "../write-failures.ts"
import type { WriteOptions } from "../write-options.ts"
import type { WriteRequest, Written } from "../write-request.ts"

/** PUT: changes only `spec.finalizers`; without any, a Namespace that is being deleted is removed. Throws Refusal. */
export const finalizeNamespace = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, name } = request
  const kind = around.kindOf(resource)
  const { object } = decodeBody(request.body, request.contentType, resource)
  settleName(object, name)
  const existing = kind.collection.live.get(name)
  if (existing === undefined) return refuse(objectNotFound(resource, name))
  const { change } = existing
  const version = object.metadata.resourceVersion ?? ""
  if (version !== "" && version !== String(change.revision)) refuse(modified(resource, name))
  const before = stateOf(change)
  admitAction(around, request, resource.gvk, object, options, before)
  const finalizers = texts(child(object, "spec"), "finalizers")
  const after: MutableObject = {
    ...before,
    metadata: { ...before.metadata },
    spec: finalizers.length === 0 ? {} : { finalizers },
  }
  after.metadata.managedFields = trackReplacement(around, kind, before, after, options.manager, "finalize")
  const isOver =
    change.terminating === true && finalizers.length === 0 && texts(after.metadata, "finalizers").length === 0
  if (options.dryRun || isOver) {
    if (!options.dryRun) around.store.remove(kind.collection, existing)
    const json = withVersion(encodeObject(resource, after), change.revision)
    return { type: "written", status: 200, json, warnings: [] }
  }
  const next = around.store.write(kind.collection, after, existing, before)
  return answerOf(kind, next, 200, [])
}
