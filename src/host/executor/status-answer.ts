/** Answers that the executor gives itself: a `Status` as an API server sends it, so that a module needs no second way to read failures. */
import type { GuestResponse } from "../guest/abi-values.ts"

/** Kubernetes' reason for each code that the executor uses. */
const reasons = {
  /** The request is malformed or cannot be carried out this way. */
  400: "BadRequest",
  /** It asks to act as somebody else. */
  403: "Forbidden",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  /** The module has too many requests under way. */
  429: "TooManyRequests",
  /** No response of the API server: no connection, no credentials, unreadable. */
  503: "ServiceUnavailable",
  /** No complete response in time. */
  504: "Timeout",
} as const

type AnswerCode = keyof typeof reasons

/** `retryAfterSeconds`: also sent as the header `Retry-After`. */
export const statusAnswer = (code: AnswerCode, message: string, retryAfterSeconds?: number): GuestResponse => {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: reasons[code],
    ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
    code,
  }
  const headers = new Map([["content-type", [Buffer.from("application/json")]]])
  if (retryAfterSeconds !== undefined) headers.set("retry-after", [Buffer.from(String(retryAfterSeconds))])
  return { status: code, headers, body: Buffer.from(JSON.stringify(status)) }
}
