/**
 * Failure responses, with the codes, reasons and details of Kubernetes 1.34.4 (each was recorded from a real server).
 * One value serves as an HTTP response and as the object of an in-stream `ERROR` event.
 */

import { qualifiedName, type Resource } from "../kinds/resources.ts"
import { explained, type FieldError } from "./field-error.ts"

/** One entry of `details.causes`. */
export interface FailureCause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

export interface Failure {
  readonly type: "failure"
  /** HTTP status, repeated as `code` in the body. */
  readonly code: number
  readonly reason?: string
  readonly message: string
  readonly details?: {
    readonly name?: string
    readonly group?: string
    readonly kind?: string
    readonly causes?: ReadonlyArray<FailureCause>
    readonly retryAfterSeconds?: number
  }
  /** Sent as a `Retry-After` header, whole seconds. */
  readonly retryAfterSeconds?: number
  /** A token in `metadata.continue`: only the response to an expired continue token has one. */
  readonly continueToken?: string
  /** Texts for `Warning` headers. */
  readonly warnings?: ReadonlyArray<string>
  /** The body is the bare message, not a Status: what Go's http.Error writes. */
  readonly plainText?: boolean
}

/** The JSON of the `Status` object, keys in the server's order. */
export const statusText = (failure: Failure): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: failure.continueToken === undefined ? {} : { continue: failure.continueToken },
    status: "Failure",
    message: failure.message,
    reason: failure.reason,
    details: failure.details,
    code: failure.code,
  })

/** Any failure Status; the named ones below are the usual ones. */
export const fail = (
  code: number,
  message: string,
  rest: Omit<Failure, "type" | "code" | "message"> = {},
): Failure => ({
  type: "failure",
  code,
  message,
  ...rest,
})

export const unauthorized: Failure = fail(401, "Unauthorized", { reason: "Unauthorized" })

/** No such path at all: the server's mux responds itself, in plain text. */
export const pageNotFound: Failure = fail(404, "404 page not found\n", { plainText: true })

/** The response of Go's HTTP server to an unreadable request line. */
export const malformedPath: Failure = fail(400, "400 Bad Request", { plainText: true })

/** A group and version that exist, with a resource that does not. */
export const unknownResource: Failure = fail(404, "the server could not find the requested resource", {
  reason: "NotFound",
  details: {},
})

export const methodNotAllowed: Failure = fail(405, "the server does not allow this method on the requested resource", {
  reason: "MethodNotAllowed",
  details: {},
})

/** The response of a read-only server to a write. */
export const readOnly = (reason: string | undefined): Failure =>
  reason === undefined ? methodNotAllowed : { ...methodNotAllowed, message: `${methodNotAllowed.message}: ${reason}` }

/** A failure that concerns an object or, with an empty name, a collection. */
export const objectFailure = (
  code: number,
  reason: string,
  resource: Resource,
  name: string,
  message: string,
  causes?: ReadonlyArray<FailureCause>,
): Failure => {
  const { group } = resource.gvk
  const subject = { ...(name !== "" && { name }), ...(group !== "" && { group }), kind: resource.plural }
  return fail(code, message, { reason, details: { ...subject, ...(causes !== undefined && { causes }) } })
}

export const objectNotFound = (resource: Resource, name: string): Failure =>
  objectFailure(404, "NotFound", resource, name, `${qualifiedName(resource)} "${name}" not found`)

/** `verb` is RBAC's; an absent namespace means the cluster scope, an absent name a collection. */
export const forbiddenRequest = (
  resource: Resource,
  {
    verb,
    user,
    namespace,
    name = "",
  }: { readonly verb: string; readonly user: string; readonly namespace?: string; readonly name?: string },
): Failure => {
  const object = name === "" ? "" : ` "${name}"`
  const scope = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`
  const right = `cannot ${verb} resource "${resource.plural}" in API group "${resource.gvk.group}" ${scope}`
  const message = `${qualifiedName(resource)}${object} is forbidden: User "${user}" ${right}`
  return objectFailure(403, "Forbidden", resource, name, message)
}

export const badRequest = (message: string): Failure => fail(400, message, { reason: "BadRequest" })

/** 422: options of a request (`ListOptions`, `PatchOptions`…) that contradict each other or that this server does not accept. */
export const invalidOptions = (kind: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { causes, summary } = explained(errors)
  return fail(422, `${kind}.meta.k8s.io "" is invalid: ${summary}`, {
    reason: "Invalid",
    details: { group: "meta.k8s.io", kind, causes },
  })
}

/** A watch, or a get, with an unreadable version gets a 500 without a reason, a list a 400. So does the real server. */
export const unreadableVersion = (verb: "list" | "watch", text: string): Failure => {
  const message = `resourceVersion: Invalid value: ${JSON.stringify(text)}: must be an unsigned 64-bit number`
  return verb === "watch" ? fail(500, message) : badRequest(`invalid resource version: ${message}`)
}

export const expiredWatch = (asked: bigint, oldest: bigint): Failure =>
  fail(410, `too old resource version: ${asked} (${oldest})`, { reason: "Expired" })

export const expiredList: Failure = fail(410, "The resourceVersion for the provided list is too old.", {
  reason: "Expired",
})

export const expiredContinue = (continueToken: string): Failure =>
  fail(
    410,
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
      "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
      "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
      "deleted between the time the first chunk was returned and now may show up in the list.",
    { reason: "Expired", continueToken },
  )

export const tooLargeVersion = (asked: bigint, current: bigint): Failure =>
  fail(504, `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    retryAfterSeconds: 1,
  })

/** The 429 of priority and fairness: plain text, and always a Retry-After, in seconds. */
export const tooManyRequests = (retryAfterSeconds = 1): Failure =>
  fail(429, "Too many requests, please try again later.\n", { plainText: true, retryAfterSeconds })

const retryAfter = (seconds: number | undefined): { retryAfterSeconds?: number } =>
  seconds === undefined ? {} : { retryAfterSeconds: seconds }

export const internalError = (cause: string, retryAfterSeconds?: number): Failure =>
  fail(500, `Internal error occurred: ${cause}`, {
    reason: "InternalError",
    details: { causes: [{ message: cause }] },
    ...retryAfter(retryAfterSeconds),
  })

export const unavailable = (retryAfterSeconds?: number): Failure =>
  fail(503, "the server is currently unable to handle the request", {
    reason: "ServiceUnavailable",
    ...retryAfter(retryAfterSeconds),
  })

/** Any other status code: a Status without a reason, as client-go renders unknown ones. */
export const unexplained = (code: number, retryAfterSeconds?: number): Failure =>
  fail(code, `the server responded with the status code ${code}`, retryAfter(retryAfterSeconds))
