/**
 * Every way in which `reel export` fails. Each message says what to do; none leaves a file behind.
 */
import * as Schema from "effect/Schema"
import { ExportInterrupted, OutputExists, OutputFailed } from "../../trace/files/output-errors.ts"
import { ApiServerUnreachable, CredentialsUnusable, NotProxied } from "./export-proxy-errors.ts"

/** No answer came: nothing listens, no such host, no HTTP, or silence. */
export class ServerUnreachable extends Schema.TaggedError<ServerUnreachable>()("ServerUnreachable", {
  /** Origin of the server's URL, without credentials. */
  server: Schema.String,
  /** Code of the operating system or of Node: `ECONNREFUSED`, `ENOTFOUND`, `TIMEOUT`, … */
  code: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `no recorder answers at ${this.server}: ${unreachableAdvice(this.code, this.detail)}`
  }
}

const unreachableAdvice = (code: string, detail: string): string => {
  switch (code) {
    case "ECONNREFUSED":
      return 'nothing listens there. Start one with "reel record --config FILE", or name another with --server'
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "there is no such host. Check --server"
    case "TIMEOUT":
      return `${detail}. Try again, or allow more time with --timeout`
    case "ECONNRESET":
      return "the connection was closed without an answer. If --server names an https port, write https://"
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return "it does not speak TLS. Write http:// instead of https://"
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return "its certificate is not signed by a known authority. Name the authority in NODE_EXTRA_CA_CERTS"
    default:
      return code.startsWith("HPE_") ? "what answers is no HTTP server. Check --server" : withCode(detail, code)
  }
}

/** Node names the code in most of its own texts: `connect EHOSTUNREACH 192.0.2.1:7777`. */
const withCode = (detail: string, code: string): string => (detail.includes(code) ? detail : `${detail} (${code})`)

/** The recorder answered with an error. 401 and 403 end with exit code 4, all others with 1. */
export class ExportRefused extends Schema.TaggedError<ExportRefused>()("ExportRefused", {
  server: Schema.String,
  status: Schema.Number,
  /** What the server said, at most 500 characters. */
  detail: Schema.String,
  /** How the recorder's log calls the request; empty if it does not say. */
  requestId: Schema.String,
  /** s after which the recorder suggests to try again. */
  retryAfterSeconds: Schema.optionalKey(Schema.Number),
  /** What to do, without a full stop; counts more than to try again. */
  advice: Schema.optionalKey(Schema.String),
}) {
  override get message(): string {
    const said = this.detail === "" ? "" : `: ${this.detail}`
    const request = this.requestId === "" || this.status < 500 ? "" : ` (request ${this.requestId})`
    const again = this.retryAfterSeconds === undefined ? "" : `. Try again in ${this.retryAfterSeconds} s`
    const advice = this.advice === undefined ? again : `. ${this.advice}`
    return `${this.server} refused the export with status ${this.status}${said}${request}${advice}`
  }
}

/** The token to show cannot be read. Exit code 2. */
export class TokenUnreadable extends Schema.TaggedError<TokenUnreadable>()("TokenUnreadable", {
  /** Where it should be: a path, or the name of a variable. */
  place: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `cannot take a token from ${this.place}: ${this.reason}`
  }
}

/** The answer ended too early or is no trace. Nothing was written; the recording itself is not affected. */
export class ExportCut extends Schema.TaggedError<ExportCut>()("ExportCut", {
  server: Schema.String,
  /** Bytes received. */
  bytes: Schema.Number,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the export from ${this.server} is not whole after ${this.bytes} bytes: ${this.reason}. No file was kept; try again`
  }
}

export type ExportError =
  | ServerUnreachable
  | ExportRefused
  | ExportCut
  | OutputExists
  | OutputFailed
  | TokenUnreadable
  | ExportInterrupted
  | CredentialsUnusable
  | ApiServerUnreachable
  | NotProxied

const classes = [
  ServerUnreachable,
  ExportRefused,
  ExportCut,
  OutputExists,
  OutputFailed,
  TokenUnreadable,
  ExportInterrupted,
  CredentialsUnusable,
  ApiServerUnreachable,
  NotProxied,
]

export const isExportError = (cause: unknown): cause is ExportError => classes.some((known) => cause instanceof known)
