/** The 422 answer for an object that its rules refuse, worded as Kubernetes 1.34.4 words it. */

import type { Failure } from "../../apiserver/answers/failure.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import type { FieldError, FieldErrorType } from "./kind-rules.ts"
import { goQuote, goValue } from "./values/go-value.ts"

const words: Readonly<Record<FieldErrorType, string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  Forbidden: "Forbidden",
  TooLong: "Too long",
  TooMany: "Too many",
  NotFound: "Not found",
  TypeInvalid: "Invalid value",
}

const withoutValue: ReadonlySet<FieldErrorType> = new Set(["Required", "Forbidden", "TooLong"])

/** The error without its field: the `message` of a cause. */
const bodyOf = ({ type, value, detail }: FieldError): string => {
  const printed = withoutValue.has(type) ? words[type] : `${words[type]}: ${goValue(value)}`
  return detail === "" ? printed : `${printed}: ${detail}`
}

/** Events of the new group are Events of the core group that look different; errors name what is stored. */
const errorKind = ({ gvk }: Resource): { readonly group: string; readonly kind: string } =>
  gvk.group === "events.k8s.io" ? { group: "", kind: gvk.kind } : gvk

/** `errors` must not be empty. The message names each error once, the causes repeat what was found twice. */
export const invalidObject = (resource: Resource, name: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { group, kind } = errorKind(resource)
  const texts = [...new Set(errors.map((error) => `${error.field}: ${bodyOf(error)}`))]
  const summary = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`
  return {
    type: "failure",
    code: 422,
    reason: "Invalid",
    message: `${group === "" ? kind : `${kind}.${group}`} ${goQuote(name)} is invalid: ${summary}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind,
      causes: errors.map((error) => ({
        reason: `FieldValue${error.type}`,
        message: bodyOf(error),
        field: error.field,
      })),
    },
  }
}
