/**
 * The error response of an API server, or of something in front of it: one shape for Status bodies, ERROR objects,
 * and text or HTML of proxies. Pure; never throws.
 */

import { isRecord } from "../is-record.ts"

/** One entry of `details.causes`. */
interface ApiStatusCause {
  /** `ResourceVersionTooLarge`, `FieldValueInvalid`, …; the empty string if the server sent none. */
  readonly reason: string
  readonly message?: string
  /** The field concerned, such as `sendInitialEvents`. */
  readonly field?: string
}

export interface ApiStatus {
  /** HTTP status code. In-stream objects without one get the code of their reason, else 500. */
  readonly code: number
  /** Kubernetes' reason (`Expired`, `Forbidden`, …); derived from the code if the body has none; may be empty. */
  readonly reason: string
  /** One line for people, at most 500 characters; never empty. */
  readonly message: string
  readonly causes: ReadonlyArray<ApiStatusCause>
  /** Seconds to wait before retrying: from the body or the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined
}

/** A status without further facts. Code 0: it is no answer of a server. */
export const plainStatus = (code: number, reason: string, message: string): ApiStatus => ({
  code,
  reason,
  message,
  causes: [],
  retryAfterSeconds: undefined,
})

/** apimachinery's `StatusReason` constants for the codes that an API server returns for a read. */
const reasons: ReadonlyArray<readonly [code: number, reason: string]> = [
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [406, "NotAcceptable"],
  [409, "Conflict"],
  // Also "Gone", which is what the HTTP status alone would mean; a 410 of an API server is nearly always this.
  [410, "Expired"],
  [413, "RequestEntityTooLarge"],
  [415, "UnsupportedMediaType"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
  [504, "Timeout"],
]
const reasonOfCode = new Map(reasons)
const codeOfReason = new Map([...reasons.map(([code, reason]) => [reason, code] as const), ["Gone", 410] as const])

const maximumMessage = 500
/** A day: a longer wait is a mistake of the server, and would make the recorder look hung. */
const maximumRetryAfterSeconds = 86_400

/**
 * Reads a parsed Status object, as in an ERROR event of a watch. Returns `undefined` if it is not a Status. `httpCode` is used if the
 * object has no valid code of its own.
 */
export const readStatusObject = (value: unknown, httpCode?: number): ApiStatus | undefined => {
  const status = record(value)
  if (status?.kind !== "Status") return undefined
  const details = record(status.details)
  const ownReason = text(status.reason)
  const code = httpStatus(status.code) ?? httpCode ?? codeOfReason.get(ownReason) ?? 500
  const reason = ownReason !== "" ? ownReason : (reasonOfCode.get(code) ?? "")
  const causes = Array.isArray(details?.causes) ? details.causes.flatMap(readCause) : []
  return {
    code,
    reason,
    message: oneLine(text(status.message)) || reason || `HTTP status ${code}`,
    causes,
    retryAfterSeconds: seconds(details?.retryAfterSeconds),
  }
}

/** Reads the JSON of a Status; `undefined` if it is not one. */
export const readStatus = (body: Uint8Array | string, httpCode?: number): ApiStatus | undefined => {
  const value = parseJson(
    typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.length).toString(),
  )
  return value === undefined ? undefined : readStatusObject(value, httpCode)
}

/**
 * The status of an unexpected HTTP response. The body may be anything; a proxy's text becomes the message, without its markup. `headers`
 * have lower-case names.
 */
export const statusOfResponse = (
  httpCode: number,
  headers: ReadonlyMap<string, string>,
  body: Uint8Array | string,
): ApiStatus => {
  const retryAfter = readRetryAfter(headers.get("retry-after"), headers.get("date"))
  const status = readStatus(body, httpCode)
  if (status !== undefined) return { ...status, retryAfterSeconds: status.retryAfterSeconds ?? retryAfter }
  // Only the start is decoded: the message needs no more, and an error page may be large.
  const beginning = typeof body === "string" ? body.slice(0, 8192) : Buffer.from(body.subarray(0, 8192)).toString()
  const reason = reasonOfCode.get(httpCode) ?? ""
  const line = oneLine(withoutMarkup(beginning))
  return {
    code: httpCode,
    reason,
    message: line === "" ? `HTTP status ${httpCode}${reason === "" ? "" : ` (${reason})`}` : line,
    causes: [],
    retryAfterSeconds: retryAfter,
  }
}

const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch (error) {
    // A body that is not JSON is allowed here; only SyntaxError is expected.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> | undefined => (isRecord(value) ? value : undefined)

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const httpStatus = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599 ? value : undefined

const seconds = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value > 0
    ? Math.min(Math.ceil(value), maximumRetryAfterSeconds)
    : undefined

const readCause = (value: unknown): ReadonlyArray<ApiStatusCause> => {
  const cause = record(value)
  if (cause === undefined) return []
  const message = text(cause.message)
  const field = text(cause.field)
  return [
    {
      reason: text(cause.reason),
      ...(message === "" ? {} : { message: oneLine(message) }),
      ...(field === "" ? {} : { field }),
    },
  ]
}

/** RFC 9110 §10.2.3: seconds, or a date, which is relative to the server's own clock, not ours. */
const readRetryAfter = (value: string | undefined, date: string | undefined): number | undefined => {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return seconds(Number(value))
  const wait = (Date.parse(value) - Date.parse(date ?? "")) / 1000
  return seconds(wait)
}

const withoutMarkup = (body: string): string =>
  /<\w/.test(body)
    ? body
        .replace(/<(script|style|head)\b[\s\S]*?<\/\1\s*>/gi, (block) => /<title[^>]*>([^<]*)/i.exec(block)?.[1] ?? " ")
        .replace(/<[^>]*>/g, " ")
        .replace(/&nbsp;/g, " ")
    : body

/** Control characters are replaced because they would reach terminals through log lines. */
const oneLine = (message: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  const line = message.replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ").trim()
  return line.length > maximumMessage ? `${line.slice(0, maximumMessage - 1)}…` : line
}
