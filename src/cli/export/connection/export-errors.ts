/**
 * All errors of `reel export`. Each message says what to do; none of them leaves a file behind.
 */
import * as Schema from "effect/Schema"
import { type ConnectionCause, causeOfCode, describeCause } from "../../../kube/index.ts"
import { ExportInterrupted, OutputExists, OutputFailed } from "../../../trace/index.ts"
import { type ExitCode, exitCodes } from "../../command-line/exit-codes.ts"

/** No response: nothing listens, no such host, not HTTP, or a time-out. */
export class ServerUnreachable extends Schema.TaggedError<ServerUnreachable>()("ServerUnreachable", {
  /** Origin of the server's URL, without credentials. */
  server: Schema.String,
  /** Code of the operating system or of Node: `ECONNREFUSED`, `ENOTFOUND`, `TIMEOUT`, … */
  code: Schema.String,
  detail: Schema.String,
  /** The option that named the server; default: `--server`. */
  option: Schema.optionalKey(Schema.String),
}) {
  readonly exitCode = exitCodes.failed

  override get message(): string {
    return `cannot reach a recorder at ${this.server}: ${unreachableAdvice(this.code, this.detail, this.option ?? "--server")}`
  }
}

const unreachableAdvice = (code: string, detail: string, option: string): string => {
  if (code === "TIMEOUT")
    return option === "--server" ? `${detail}. Try again, or allow more time with --timeout` : `${detail}. Try again`
  if (code.startsWith("HPE_")) return `the server does not speak HTTP. Check ${option}`
  const cause = causeOfCode(code)
  // Node's own text names the code in most cases: `getaddrinfo EBUSY`.
  if (cause === undefined) return detail.includes(code) ? detail : `${detail} (${code})`
  const advice = adviceOf(cause, option)
  return advice === undefined ? describeCause(cause) : `${describeCause(cause)}. ${advice}`
}

const adviceOf = (cause: ConnectionCause, option: string): string | undefined => {
  switch (cause) {
    case "refused":
      return `Start a recorder with "reel record", or name another one with ${option}`
    case "unknown-host":
    case "name-server-silent":
    case "unreachable":
    case "no-answer":
    case "no-response":
    case "other-name":
      return `Check ${option}`
    case "lost":
      return "Try again"
    case "tls-expected":
      return `Write https:// in ${option}`
    case "tls-unspoken":
      return `Write http:// in ${option}`
    case "unknown-authority":
      return "Set NODE_EXTRA_CA_CERTS to a file with the authority's certificate"
    default:
      return undefined
  }
}

/** The recorder returned an error. The exit code is 4 for 401 and 403, 3 for 409 (what `--require` asks for is not all recorded), otherwise 1. */
export class ExportRefused extends Schema.TaggedError<ExportRefused>()("ExportRefused", {
  server: Schema.String,
  status: Schema.Number,
  /** The server's message, at most 500 characters. */
  detail: Schema.String,
  /** The request's id in the recorder's log; empty if the response has none. */
  requestId: Schema.String,
  /** s after which to try again, as the recorder suggests. */
  retryAfterSeconds: Schema.optionalKey(Schema.Number),
  /** What to do, without a full stop; printed instead of "try again". */
  advice: Schema.optionalKey(Schema.String),
  /** What was rejected. Default: the export. */
  what: Schema.optionalKey(Schema.String),
}) {
  get exitCode(): ExitCode {
    if (this.status === 409) return exitCodes.incomplete
    return this.status === 401 || this.status === 403 ? exitCodes.notPermitted : exitCodes.failed
  }

  override get message(): string {
    // Another sentence may follow.
    const said = this.detail === "" ? "" : `: ${this.detail.replace(/\.$/, "")}`
    const request = this.requestId === "" || this.status < 500 ? "" : ` (request ${this.requestId})`
    const again = this.retryAfterSeconds === undefined ? "" : `. Try again in ${this.retryAfterSeconds} s`
    const advice = this.advice === undefined ? again : `. ${this.advice}`
    return `${this.server} rejected ${this.what ?? "the export"} with status ${this.status}${said}${request}${advice}`
  }
}

/** A recording in a directory cannot be exported as requested. Exit code 3 if what `--require` asks for is not all recorded, otherwise 1. */
export class OfflineRefused extends Schema.TaggedError<OfflineRefused>()("OfflineRefused", {
  directory: Schema.String,
  /** As a recorder would respond. */
  status: Schema.Number,
  detail: Schema.String,
}) {
  get exitCode(): ExitCode {
    return this.status === 409 ? exitCodes.incomplete : exitCodes.failed
  }

  override get message(): string {
    return this.status >= 500 ? this.detail : `cannot export from the recording in ${this.directory}: ${this.detail}`
  }
}

/** There is no recording in the directory, or it cannot be read. Exit code 1. */
export class RecordingUnreadable extends Schema.TaggedError<RecordingUnreadable>()("RecordingUnreadable", {
  /** Says what to do. */
  message: Schema.String,
  /** Whether there is none, yet. */
  isAbsent: Schema.optionalKey(Schema.Boolean),
}) {
  readonly exitCode = exitCodes.failed
}

/** An export through an API server never reached the recorder, because of the kubeconfig, the API server, or its service proxy. */
export class NotReached extends Schema.TaggedError<NotReached>()("NotReached", {
  /** Says what to do, and contains no token. */
  message: Schema.String,
  /** Whether the API server refused the credentials, or misses a permission: exit code 4, otherwise 1. */
  isRefused: Schema.Boolean,
  /** Of the API server's answer, if there was one. */
  status: Schema.optionalKey(Schema.Number),
}) {
  get exitCode(): ExitCode {
    return this.isRefused ? exitCodes.notPermitted : exitCodes.failed
  }
}

/** The token cannot be read. Exit code 2. */
export class TokenUnreadable extends Schema.TaggedError<TokenUnreadable>()("TokenUnreadable", {
  /** Where it was expected: a path, or the name of an environment variable. */
  place: Schema.String,
  reason: Schema.String,
}) {
  readonly exitCode = exitCodes.usage

  override get message(): string {
    return `cannot read a token from ${this.place}: ${this.reason}`
  }
}

/** The response ended too early or is not a trace. Nothing was written; the recording itself is not affected. */
export class ExportCut extends Schema.TaggedError<ExportCut>()("ExportCut", {
  server: Schema.String,
  /** Bytes received. */
  bytes: Schema.Number,
  reason: Schema.String,
}) {
  readonly exitCode = exitCodes.failed

  override get message(): string {
    return `the export from ${this.server} is incomplete after ${this.bytes} bytes: ${this.reason}. No file was kept; try again`
  }
}

const classes = [
  ServerUnreachable,
  ExportRefused,
  OfflineRefused,
  RecordingUnreadable,
  NotReached,
  TokenUnreadable,
  ExportCut,
  OutputExists,
  OutputFailed,
  ExportInterrupted,
] as const

export type ExportError = InstanceType<(typeof classes)[number]>

export const isExportError = (cause: unknown): cause is ExportError => classes.some((known) => cause instanceof known)
