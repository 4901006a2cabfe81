/** Subresources other than `/status`, which is a plain update with its own rules. */

import { methodNotAllowed, objectNotFound, unknownResource } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { keyOf } from "../../../apiserver/watch/change.ts"
import { finalizeNamespace } from "../delete/namespace-finalize.ts"
import { notImplementedSubresources } from "../not-implemented.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { checkPatchType } from "../verbs/patch.ts"
import { notImplemented } from "../write-failures.ts"
import { parseWriteOptions } from "../write-options.ts"
import type { WriteRequest, WriteVerb, Written } from "../write-request.ts"
import { bindPod, evictPod } from "./pod-subresources.ts"
import { readScale, writeScale } from "./scale.ts"
import { requestToken } from "./token-request.ts"

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
