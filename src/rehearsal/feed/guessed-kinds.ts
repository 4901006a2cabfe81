/**
 * Kinds whose objects are in a trace without their definition: served under the name that Kubernetes' own clients would guess, with any
 * content and a status.
 */

import { parseGvk } from "../../kube/gvk.ts"
import type { Resource } from "../../sandbox/index.ts"
import { ResourceNames } from "../../trace/formats/kwok/resource-names.ts"

const names = new ResourceNames()

/** `undefined` if the text is not a kind. */
export const guessedKind = (gvk: string, isNamespaced: boolean): Resource | undefined => {
  const parsed = parseGvk(gvk)
  const plural = names.of(gvk)?.resource
  if (parsed === undefined || plural === undefined) return undefined
  return { gvk: parsed, plural, namespaced: isNamespaced, subresources: ["status"], custom: true }
}
