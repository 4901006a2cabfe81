/** Answers the request of a review with a function of a controller. */
import { isDeepStrictEqual } from "node:util"
import type { Timers } from "../../../clock.ts"
import { isRecord } from "../../../is-record.ts"
import type { ApiObject } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import type { AdmissionCall } from "../../admission/registration.ts"
import { allowedWith, type ReviewRequest } from "../../admission/review-server.ts"
import { type AdmissionRequest, admissionTermsOf, type Verdict } from "../define-admission.ts"
import type { DefinedController, Reads } from "../define-controller.ts"

/** Rejects with an Error that names the controller if the function throws or takes too long; what is late is dropped. */
export const answerRequest = async (
  controller: DefinedController,
  call: AdmissionCall,
  request: ReviewRequest,
  { clock, cached }: Reads & { readonly clock: Timers },
): Promise<object> => {
  const timeoutMs = admissionTermsOf(controller)?.timeoutMs ?? 0
  const abort = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = clock.after(timeoutMs, () => {
    late.reject(new Error(`it has not returned within ${timeoutMs} ms`))
    abort.abort()
  })
  const given = { cached, signal: abort.signal }
  try {
    const answer = call === "convert" ? converted(controller, request) : admitted(controller, call, request, given)
    return await Promise.race([answer, late.promise])
  } catch (error) {
    throw new Error(`controller ${controller.name}: ${call} failed: ${messageOf(error)}`)
  } finally {
    timer.cancel()
  }
}

const admitted = async (
  controller: DefinedController,
  call: "validate" | "mutate",
  { operation, object, oldObject, userInfo, dryRun }: ReviewRequest,
  reads: Pick<AdmissionRequest, "cached" | "signal">,
): Promise<object> => {
  const subject = (object ?? oldObject) as ApiObject
  const about = { operation, oldObject: oldObject ?? undefined, userInfo, dryRun: dryRun === true, ...reads }
  const given = about as Omit<AdmissionRequest, "object">
  if (call === "validate") return responseOf(await controller.validate?.({ ...given, object: subject }))
  const copy = structuredClone(subject)
  const wanted = (await controller.mutate?.({ ...given, object: copy })) ?? copy
  return allowedWith(isRecord(object) ? differences("", object, JSON.parse(JSON.stringify(wanted))) : [])
}

// biome-ignore lint/suspicious/noConfusingVoidType: what a function without a return statement returns
const responseOf = (verdict: string | Verdict | undefined | void): object => {
  const { message = "", code, field, warnings } = typeof verdict === "string" ? { message: verdict } : (verdict ?? {})
  if (message === "") return { allowed: true, warnings }
  const status =
    field === undefined
      ? { message, reason: "Forbidden", code: code ?? 403 }
      : {
          ...{ message: `${field}: ${message}`, reason: "Invalid", code: code ?? 422 },
          details: { causes: [{ reason: "FieldValueInvalid", field, message }] },
        }
  return { allowed: false, status: { status: "Failure", ...status }, warnings }
}

/** The operations of a JSON patch (RFC 6902) that make `after` of `before`. A list that differs is replaced as a whole. */
const differences = (path: string, before: unknown, after: unknown): ReadonlyArray<object> => {
  if (isDeepStrictEqual(before, after)) return []
  if (!isRecord(before) || !isRecord(after)) return [{ op: "replace", path, value: after }]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((member): ReadonlyArray<object> => {
    const below = `${path}/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`
    if (!Object.hasOwn(after, member)) return [{ op: "remove", path: below }]
    if (!Object.hasOwn(before, member)) return [{ op: "add", path: below, value: after[member] }]
    return differences(below, before[member], after[member])
  })
}

/** Objects that have the wanted version already stay as they are. */
const converted = async (controller: DefinedController, request: ReviewRequest): Promise<object> => {
  const apiVersion = String(request.desiredAPIVersion)
  const versionOf = (text: string): string => text.slice(text.indexOf("/") + 1)
  const convertedObjects: object[] = []
  for (const object of request.objects as ReadonlyArray<ApiObject>) {
    const [from, to] = [versionOf(object.apiVersion), versionOf(apiVersion)]
    const next = from === to ? object : await controller.convert?.({ object: structuredClone(object), from, to })
    convertedObjects.push({ ...next, apiVersion })
  }
  return { convertedObjects, result: { status: "Success" } }
}
