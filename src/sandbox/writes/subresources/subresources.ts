/** Subresources other than `/status`, which is a plain update with its own rules. */

import { methodNotAllowed, objectNotFound, unknownResource } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { keyOf } from "../../../apiserver/watch/change.ts"
import { child, texts } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, withVersion } from "../../store/object-encoding.ts"
import { answerOf, stateOf } from "../answer.ts"
import { decodeBody } from "../body/body.ts"
import { trackReplacement } from "../field-owners.ts"
import { notImplementedSubresources } from "../not-implemented.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { settleName } from "../verbs/create.ts"
import { checkPatchType } from "../verbs/patch.ts"
import { admitAction } from "../webhooks/admission-points.ts"
import { modified, notImplemented } from "../write-failures.ts"
import { parseWriteOptions, type WriteOptions } from "../write-options.ts"
import type { WriteRequest, WriteVerb, Written } from "../write-request.ts"
import { bindPod, evictPod } from "./pod-subresources.ts"
import { readScale, writeScale } from "./scale.ts"
import { requestToken } from "./token-request.ts"

// `namespaces/x/finalize`: the only way to remove what blocks the deletion of a Namespace.

/** PUT: changes only `spec.finalizers`; without any, a Namespace that is being deleted is removed. Throws Refusal. */
const finalizeNamespace = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
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

/** Not in discovery, because the only response is a 501. */
export const unlistedSubresources: ReadonlySet<string> = new Set(Object.keys(notImplementedSubresources))

/** Which writes the real server knows, where not all; others get its 405 and not our 501. */
const verbsOfUnimplemented: Readonly<Record<string, ReadonlyArray<WriteVerb>>> = {
  "pods/attach": ["create"],
  "pods/exec": ["create"],
  "pods/log": [],
  "pods/portforward": ["create"],
  "pods/ephemeralcontainers": ["update", "patch"],
  "pods/resize": ["update", "patch"],
}

/** Throws Refusal: 405 for a wrong method, 501 for what is not implemented. */
export const writeSubresource = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, subresource, verb } = request
  const path = `${resource.plural}/${subresource}`
  if (verbsOfUnimplemented[path]?.includes(verb) === false) notAllowed()
  refuseUnimplemented(around, request, path)
  switch (path) {
    case "namespaces/finalize":
      return verb === "update" ? finalizeNamespace(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "pods/binding":
      return verb === "create" ? bindPod(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "pods/eviction":
      return verb === "create" ? evictPod(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    case "serviceaccounts/token":
      return verb === "create" ? requestToken(around, request, parseWriteOptions(request, warnings)) : notAllowed()
    default:
  }
  if (subresource !== "scale") return refuse(unknownResource)
  if (verb === "patch") checkPatchType({ resource }, request.contentType)
  else if (verb !== "update") return notAllowed()
  return writeScale(around, request, parseWriteOptions(request, warnings))
}

/** `undefined` if the subresource has no GET. Throws Refusal. */
export const readSubresource = (
  around: WriteSurroundings,
  resource: Resource,
  namespace: string,
  name: string,
  subresource: string,
): Written | undefined => {
  refuseUnimplemented(around, { resource, namespace, name }, `${resource.plural}/${subresource}`)
  if (subresource === "scale") return readScale(around, resource, namespace, name)
  return notAllowed()
}

const notAllowed = (): never => refuse(methodNotAllowed)

/** An object that does not exist gets a 404, even if its subresource is not implemented. */
const refuseUnimplemented = (
  around: WriteSurroundings,
  { resource, namespace, name }: Pick<WriteRequest, "resource" | "namespace" | "name">,
  path: string,
): void => {
  const reason = notImplementedSubresources[path]
  if (reason === undefined) return
  if (!around.kindOf(resource).collection.live.has(keyOf(namespace, name))) refuse(objectNotFound(resource, name))
  refuse(notImplemented(reason))
}
