/**
 * Answers a review of the API server with a function of a controller.
 *
 * Guaranteed: it never rejects. A function that throws or takes too long is answered with an error that names the controller: for `validate` and `mutate`
 * with status 500, so that the webhook's failure policy decides; for `convert` as a conversion that failed.
 */
import { isDeepStrictEqual } from "node:util"
import type { Timers } from "../../../clock.ts"
import { isRecord } from "../../../is-record.ts"
import type { ApiObject, ObjectBase } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import type { AdmissionCall } from "../../admission/registration.ts"
import type { ReviewReply } from "../../admission/review-server.ts"
import { type AdmissionRequest, admissionTermsOf, type Verdict } from "../define-admission.ts"
import type { DefinedController, Reads } from "../define-controller.ts"

interface Surroundings extends Reads {
  readonly clock: Timers
  /** Gets a sentence for each review that had no proper answer. */
  readonly trouble: (detail: string) => void
}

/** `body`: an AdmissionReview or a ConversionReview as JSON, of version v1. */
export const answerReview = async (
  controller: DefinedController,
  call: AdmissionCall,
  body: string,
  around: Surroundings,
): Promise<ReviewReply> => {
  const request = requestIn(body)
  const { uid } = request ?? {}
  if (request === undefined || typeof uid !== "string")
    return { status: 400, text: "this is no review of version v1\n" }
  try {
    const response = await within(controller, around.clock, (signal) =>
      call === "convert" ? converted(controller, request) : admitted(controller, call, request, { around, signal }),
    )
    return reviewReply(call, { uid, ...response })
  } catch (error) {
    const problem = `controller ${controller.name}: ${call} failed: ${messageOf(error)}`
    around.trouble(problem)
    if (call !== "convert") return { status: 500, text: `${problem}\n` }
    return reviewReply(call, { uid, result: { status: "Failed", message: problem } })
  }
}

const reviewReply = (call: AdmissionCall, response: object): ReviewReply => {
  const review =
    call === "convert"
      ? { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" }
      : { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }
  return { status: 200, text: JSON.stringify({ ...review, response }) }
}

type Fields = Readonly<Record<string, unknown>>

/** The request of a review; `undefined` if the body is none. */
const requestIn = (body: string): Fields | undefined => {
  try {
    const review: unknown = JSON.parse(body)
    return isRecord(review) && isRecord(review.request) ? review.request : undefined
  } catch {
    return undefined
  }
}

/** Rejects when the controller's time is over; what is late is dropped. */
const within = async <Value>(
  controller: DefinedController,
  clock: Timers,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> => {
  const timeoutMs = admissionTermsOf(controller)?.timeoutMs ?? 0
  const abort = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = clock.after(timeoutMs, () => {
    const error = new Error(`it has not returned within ${timeoutMs} ms`)
    abort.abort(error)
    late.reject(error)
  })
  try {
    return await Promise.race([work(abort.signal), late.promise])
  } finally {
    timer.cancel()
  }
}

const admitted = async (
  controller: DefinedController,
  call: "validate" | "mutate",
  request: Fields,
  { around, signal }: { around: Reads; signal: AbortSignal },
): Promise<object> => {
  const { operation, object, oldObject, namespace, userInfo, dryRun } = request
  const subject = (object ?? oldObject) as ApiObject
  const given = {
    operation,
    oldObject: oldObject ?? undefined,
    namespace: namespace || undefined,
    userInfo,
    dryRun: dryRun === true,
    cached: (kind) => around.cached(kind),
    signal,
  } as Omit<AdmissionRequest, "object">
  if (call === "validate") return responseOf(await controller.validate?.({ ...given, object: subject }))
  const copy = structuredClone(subject)
  const wanted = (await controller.mutate?.({ ...given, object: copy })) ?? copy
  const patch = object === undefined || object === null ? [] : differences("", object, asJson(wanted))
  if (patch.length === 0) return { allowed: true }
  return { allowed: true, patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }
}

// biome-ignore lint/suspicious/noConfusingVoidType: what a function without a return statement returns
const responseOf = (verdict: string | Verdict | undefined | void): object => {
  const { message = "", code, field, warnings } = typeof verdict === "string" ? { message: verdict } : (verdict ?? {})
  const warned = warnings !== undefined && warnings.length > 0 && { warnings }
  if (message === "") return { allowed: true, ...warned }
  const causes = field === undefined ? {} : { details: { causes: [{ reason: "FieldValueInvalid", field, message }] } }
  const status = {
    status: "Failure",
    message: field === undefined ? message : `${field}: ${message}`,
    reason: field === undefined ? "Forbidden" : "Invalid",
    code: code ?? (field === undefined ? 403 : 422),
    ...causes,
  }
  return { allowed: false, status, ...warned }
}

const asJson = (object: ObjectBase): unknown => JSON.parse(JSON.stringify(object))

/** The operations of a JSON patch (RFC 6902) that make `after` of `before`. A list that differs is replaced as a whole. */
const differences = (path: string, before: unknown, after: unknown): ReadonlyArray<object> => {
  if (isDeepStrictEqual(before, after)) return []
  if (!isRecord(before) || !isRecord(after)) return [{ op: "replace", path, value: after }]
  const below = (member: string): string => `${path}/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`
  return [
    ...Object.keys(before).flatMap((member) =>
      Object.hasOwn(after, member)
        ? differences(below(member), before[member], after[member])
        : [{ op: "remove", path: below(member) }],
    ),
    ...Object.keys(after).flatMap((member) =>
      Object.hasOwn(before, member) ? [] : [{ op: "add", path: below(member), value: after[member] }],
    ),
  ]
}

/** Of a ConversionReview. Objects that have the wanted version already stay as they are. */
const converted = async ({ convert }: DefinedController, { desiredAPIVersion, objects }: Fields): Promise<object> => {
  const apiVersion = String(desiredAPIVersion)
  const versionOf = (text: string): string => text.slice(text.indexOf("/") + 1)
  const convertedObjects = await Promise.all(
    (objects as ReadonlyArray<ApiObject>).map(async (object) => {
      if (convert === undefined || object.apiVersion === apiVersion) return object
      const [from, to] = [versionOf(object.apiVersion), versionOf(apiVersion)]
      return { ...(await convert({ object: structuredClone(object), from, to })), apiVersion }
    }),
  )
  return { convertedObjects, result: { status: "Success" } }
}
