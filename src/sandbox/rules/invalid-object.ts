/** The 422 for an object that its rules refuse. */

import type { Failure } from "../../apiserver/answers/failure.ts"
import { explained, type FieldError } from "../../apiserver/answers/field-error.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"

/** Events of the new group are stored as Events of the core group; errors name the stored kind. */
const errorKind = ({ gvk }: Resource): { readonly group: string; readonly kind: string } =>
  gvk.group === "events.k8s.io" ? { group: "", kind: gvk.kind } : gvk

/** `errors` must not be empty. Duplicates are reported once. */
export const invalidObject = (resource: Resource, name: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { group, kind } = errorKind(resource)
  const { causes, summary } = explained(errors)
  return {
    type: "failure",
    code: 422,
    reason: "Invalid",
    message: `${group === "" ? kind : `${kind}.${group}`} ${JSON.stringify(name)} is invalid: ${summary}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind,
      causes,
    },
  }
}
