/** AdmissionReviews: the question to a webhook and what its answer means. */

import { type Failure, fail } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { apiVersionOf, type GroupVersionKind } from "../../../kube/gvk.ts"
import { messageOf } from "../../../message-of.ts"
import { child, fieldsOf, isAbsent, number, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { type AdmissionAttributes, asView } from "./matching.ts"
import type { Webhook } from "./webhook.ts"

/** What became of one call. */
export type WebhookAnswer =
  | { readonly type: "allowed"; readonly patch: unknown; readonly warnings: ReadonlyArray<string> }
  /** The response to the client, whatever the failure policy. */
  | { readonly type: "refused"; readonly failure: Failure; readonly warnings: ReadonlyArray<string> }
  /** No usable answer: the failure policy decides. */
  | { readonly type: "failed"; readonly problem: string }

export const failedAnswer = (problem: string): WebhookAnswer => ({ type: "failed", problem })

const refusedAnswer = (failure: Failure, warnings: ReadonlyArray<string> = []): WebhookAnswer => ({
  type: "refused",
  failure,
  warnings,
})

/** The 400 for a dry run that a webhook with side effects would see. */
export const dryRunRefused = ({ name }: Webhook): WebhookAnswer =>
  refusedAnswer(
    fail(400, `admission webhook ${JSON.stringify(name)} does not support dry run`, { reason: "BadRequest" }),
  )

/** The body of a call that shows the request as one of `view`. */
export const reviewText = (webhook: Webhook, uid: string, attributes: AdmissionAttributes, view: Resource): string => {
  const { resource, object, oldObject } = attributes
  const shown = (state: typeof object): MutableObject | null => asView(state, attributes, resource, view) ?? null
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: versionOf(webhook),
    request: { uid, ...requestIn(attributes, view), object: shown(object), oldObject: shown(oldObject) },
  })
}

/** The request without its objects, as one of `view`. */
export const requestIn = (attributes: AdmissionAttributes, view: Resource): Fields => {
  const { resource, subresource, kind, namespace, name, operation, dryRun, options, user } = attributes
  return {
    kind: kindOf(kind === resource.gvk ? view.gvk : kind),
    resource: pluralOf(view),
    subResource: orAbsent(subresource),
    requestKind: kindOf(kind),
    requestResource: pluralOf(resource),
    requestSubResource: orAbsent(subresource),
    name: orAbsent(name),
    namespace: orAbsent(namespace),
    operation,
    userInfo: user,
    dryRun,
    options,
  }
}

const kindOf = ({ group, version, kind }: GroupVersionKind): Fields => ({ group, version, kind })

const pluralOf = ({ gvk, plural }: Resource): Fields => ({
  group: gvk.group,
  version: gvk.version,
  resource: plural,
})

const versionOf = ({ reviewVersion }: Webhook): string =>
  apiVersionOf({ group: "admission.k8s.io", version: reviewVersion, kind: "" })

const orAbsent = (value: string): string | undefined => (value === "" ? undefined : value)

/** Reads the body of a response with status 200, and checks it as the API server does. Never throws. */
export const answerIn = (webhook: Webhook, uid: string, body: string): WebhookAnswer => {
  const review = parsed(body)
  if (review === undefined) return failedAnswer("failed to call webhook: the response is not a JSON object")
  const response = child(review, "response")
  const problem = response === undefined ? "webhook response was absent" : envelopeProblem(webhook, uid, review)
  if (problem !== undefined) return failedAnswer(`received invalid webhook response: ${problem}`)
  const warnings = texts(response, "warnings")
  if (response?.allowed !== true) return refusedAnswer(denial(webhook, child(response, "status")), warnings)
  return patchAnswer(response, warnings)
}

const envelopeProblem = (webhook: Webhook, uid: string, review: Fields): string | undefined => {
  const response = child(review, "response")
  const { patch, patchType } = response ?? {}
  if (webhook.reviewVersion === "v1") {
    if (text(response, "uid") !== uid)
      return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(text(response, "uid"))}`
    if (review.kind !== "AdmissionReview" || review.apiVersion !== versionOf(webhook))
      return `expected webhook response of ${versionOf(webhook)}, Kind=AdmissionReview, got ${String(review.apiVersion)}, Kind=${String(review.kind)}`
    const given = [isAbsent(patch), isAbsent(patchType)]
    if (webhook.type === "mutating" && given[0] !== given[1]) {
      return given[0]
        ? "webhook returned response.patchType but not response.patch"
        : "webhook returned response.patch but not response.patchType"
    }
  }
  if (webhook.type === "validating" && !(isAbsent(patch) && isAbsent(patchType)))
    return "validating webhook may not return response.patch"
  return isAbsent(patchType) || patchType === "JSONPatch" ? undefined : `unsupported patch type ${String(patchType)}`
}

const patchAnswer = ({ patch }: Fields, warnings: ReadonlyArray<string>): WebhookAnswer => {
  if (isAbsent(patch)) return { type: "allowed", patch: undefined, warnings }
  try {
    return { type: "allowed", patch: JSON.parse(bytesOf(patch).toString("utf8")) as unknown, warnings }
  } catch (error) {
    return failedAnswer(`received invalid webhook response: ${messageOf(error)}`)
  }
}

/** Go's decoder takes bytes as base64 and as a list of numbers. */
const bytesOf = (patch: unknown): Buffer =>
  Array.isArray(patch) ? Buffer.from(patch.map(Number)) : Buffer.from(String(patch), "base64")

/** The webhook's own status, which may have any code that is an error, and anything else that a Status has. */
const denial = ({ name }: Webhook, status: Fields | undefined): Failure => {
  const code = number(status, "code") ?? 0
  const [message, reason] = [text(status, "message"), text(status, "reason")]
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`
  const explanation = message || reason
  const details = child(status, "details")
  return fail(
    Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    explanation === "" ? `${denied} without explanation` : `${denied}: ${explanation}`,
    { ...(reason !== "" && { reason }), ...(details !== undefined && { details }) },
  )
}

const parsed = (body: string): Fields | undefined => {
  try {
    return fieldsOf(JSON.parse(body))
  } catch {
    // Reported as what it is: no JSON object.
    return undefined
  }
}
