/** Why an object could not be written or read: one error for all stores, with the store's own reason. */
import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"
import { addressUrl, providers, type StorePlace } from "../addresses/target-address.ts"

/**
 * What needs attention:
 * - `package-missing`: the store's SDK is not installed; the reason names it
 * - `credentials`: none were found, or they could not be read
 * - `denied`: the store identified the caller and refused (401, 403)
 * - `no-bucket`: there is no such bucket, container, account or directory
 * - `no-object`: there is no such object
 * - `throttled`: the store asks for fewer requests, and kept asking
 * - `full`: no space, or a quota is used up
 * - `unreachable`: no connection, no name, no TLS
 * - `deadline`: connected, but no response in time
 * - `too-large`: more bytes than an object written in parts can have
 * - `no-conditions`: the store ignores or refuses conditional requests, so two writers could both create an object
 * - `bad-key`: the key names no object, or not one of this store
 * - `aborted`: aborted by the caller
 * - `failed`: any other error of the store
 */
const targetFaults = [
  "package-missing",
  "credentials",
  "denied",
  "no-bucket",
  "no-object",
  "throttled",
  "full",
  "unreachable",
  "deadline",
  "too-large",
  "no-conditions",
  "bad-key",
  "aborted",
  "failed",
] as const

type TargetFault = (typeof targetFaults)[number]

/** What the operator can do, where the reason, which is the store's, does not say it. */
const advice: Readonly<Partial<Record<TargetFault, string>>> = {
  denied: "give these credentials the permissions that docs/reference/export-targets.md lists, or use others",
  "no-bucket": "create it, or correct the address",
  throttled: "send fewer requests at once, or raise the store's limit",
  full: "free space, or raise the quota",
  unreachable: "check the network, and the endpoint in the environment",
  "no-conditions": "use a store that supports If-None-Match",
}

/** An object could not be written to its store, or read from it. */
export class TargetError extends Schema.TaggedError<TargetError>()("TargetError", {
  provider: Schema.Literals([...providers, "file"]),
  bucket: Schema.String,
  key: Schema.String,
  /** The address in its canonical form. */
  location: Schema.String,
  code: Schema.Literals(targetFaults),
  access: Schema.Literals(["write", "read", "list", "remove"]),
  /** The store's own message if it sent one; one line, without secrets. */
  reason: Schema.String,
}) {
  override get message(): string {
    const then = advice[this.code]
    return `cannot ${this.access} ${this.location}: ${this.reason}${then === undefined ? "" : `; ${then}`}`
  }
}

/** The error for an address. */
export const targetError = (
  address: StorePlace,
  code: TargetFault,
  reason: string,
  access: TargetError["access"] = "write",
): TargetError => {
  const { provider, bucket, key } = address
  const location = addressUrl(address)
  return new TargetError({ provider, bucket, key, location, code, access, reason: presentable(reason) })
}

/** The error for a value that an SDK threw; a TargetError is returned as it is. */
export const targetErrorOf = (
  address: StorePlace,
  cause: unknown,
  access: TargetError["access"] = "write",
): TargetError => {
  if (cause instanceof TargetError)
    return cause.access === access ? cause : targetError(address, cause.code, cause.reason, access)
  const facts = factsOf(cause)
  // Class names such as RestError explain nothing.
  const named = facts.codes.find((code) => !/(Error|^\d+)$/.test(code) && !facts.message.includes(code))
  const detail = [named, facts.message].filter((text) => text !== undefined && text !== "").join(": ")
  const fallback = facts.status > 0 ? `HTTP ${facts.status}` : (facts.codes[0] ?? "the store gave no reason")
  return targetError(address, faultOf(facts), detail === "" ? fallback : detail, access)
}

/** The facts that the errors of the three SDKs share, under various names. */
interface ErrorFacts {
  /** Names and codes, outermost first. */
  readonly codes: ReadonlyArray<string>
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  readonly message: string
}

const factsOf = (cause: unknown): ErrorFacts => {
  const codes: string[] = []
  let status = 0
  let message = ""
  const visit = (error: unknown, depth: number): void => {
    if (!isRecord(error) || depth > 4) return
    for (const code of [error.code, error.Code, error.errorCode, error.name]) {
      if (typeof code === "string" && code !== "") codes.push(code)
    }
    const answered = isRecord(error.$metadata) ? error.$metadata.httpStatusCode : undefined
    for (const number of [answered, error.statusCode, error.status, error.code, Number(error.code)]) {
      if (status === 0 && typeof number === "number" && number >= 100 && number < 600) status = number
    }
    if (message === "" && typeof error.message === "string") message = error.message
    visit(error.cause, depth + 1)
    // Node tries several addresses and reports each failure; the SDKs keep some of that.
    if (Array.isArray(error.errors)) for (const each of error.errors.slice(0, 4)) visit(each, depth + 1)
    visit(error.response, depth + 1)
    // Where Azure's SDK keeps the header with the error code when the response has no body.
    visit(error.details, depth + 1)
  }
  visit(cause, 0)
  return { codes, status, message: message === "" && typeof cause === "string" ? cause : message }
}

/** Whether the store's error has one of these codes; a response without a body has it in a header. */
export const hasCode = (cause: unknown, ...codes: ReadonlyArray<string>): boolean =>
  factsOf(cause).codes.some((code) => codes.includes(code))

/** The HTTP status of an SDK's error; 0 if there was no response. */
export const statusOf = (cause: unknown): number => factsOf(cause).status

/** Whether the same request may succeed a little later. */
export const isPassing = (cause: unknown): boolean => {
  const facts = factsOf(cause)
  const code = cause instanceof TargetError ? cause.code : faultOf(facts)
  if (code === "unreachable" || code === "throttled" || code === "deadline") return true
  // 501: the store will never do it. Conflicts are writers of the same object at the same moment.
  if (code === "failed" && facts.status >= 500 && facts.status !== 501) return true
  return (
    facts.status === 408 || facts.codes.some((name) => /^(ConditionalRequestConflict|OperationAborted)$/.test(name))
  )
}

const credentialCodes =
  /^(CredentialsProviderError|TokenProviderError|CredentialUnavailableError|AggregateAuthenticationError|AuthenticationRequiredError)$/
const credentialWords = /could not load the default credentials|invalid_grant|no such file or directory.*json/i
const connectionCodes =
  /^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_\w+|E(HOST|NET)UNREACH|ETIMEDOUT|EPIPE|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|REQUEST_SEND_ERROR|PARSE_ERROR|ERR_STREAM_PREMATURE_CLOSE|UND_ERR_\w+)$/
const overloadCodes = /^(SlowDown\w*|ServerBusy|Throttl\w+|RequestLimitExceeded|rateLimitExceeded)$/
const fullCodes = /^(ENOSPC|EDQUOT|\w*QuotaExceeded|quotaExceeded|XMinioStorageFull|InsufficientStorage)$/

const faultOf = ({ codes, status, message }: ErrorFacts): TargetFault => {
  const says = (pattern: RegExp): boolean => codes.some((code) => pattern.test(code))
  if (says(credentialCodes) || credentialWords.test(message)) return "credentials"
  if (says(/^(NoSuchBucket|ContainerNotFound|PermanentRedirect)$/)) return "no-bucket"
  if (status === 429 || says(overloadCodes)) return "throttled"
  if (status === 507 || says(fullCodes)) return "full"
  if (status === 501 && says(/^NotImplemented$/)) return "no-conditions"
  if (status === 401 || status === 403 || says(/^(EACCES|EPERM|EROFS)$/)) return "denied"
  if (status === 404 && says(/^(NoSuchKey|BlobNotFound)$/)) return "no-object"
  // An upload that someone else has ended is also reported as missing, although the bucket exists.
  if (status === 404 && !says(/^NoSuchUpload$/)) return "no-bucket"
  // Below 400: the connection broke in the middle of the response.
  if (status < 400 && says(connectionCodes)) return "unreachable"
  if (status === 0 && (says(/^(TimeoutError|AbortError|RequestTimeout)$/) || /timed? ?out/i.test(message)))
    return "deadline"
  return "failed"
}

/** Characters of a reason: it becomes one line of a response and of the log. */
const longestReason = 400

/** Makes it one line and removes signatures and upload sessions, which are credentials. */
const presentable = (reason: string): string => {
  const line = reason
    .replaceAll(/\s+/g, " ")
    .replaceAll(
      /\b(sig|signature|upload_id|x-amz-signature|x-amz-security-token|accountkey|token)=[^&\s;"']+/gi,
      "$1=…",
    )
    .trim()
  return line.length > longestReason ? `${line.slice(0, longestReason)}…` : line
}
