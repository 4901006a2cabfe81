/**
 * The recorder's HTTP interface: `/healthz`, `/readyz`, `/metrics`, `GET /v1/coverage`, `POST /export`, questions
 * about the past (`GET /v1/objects`, …), what happens now (`GET /v1/events`), and the page that shows all that (`/ui/`).
 *
 * Health probes and the page, which reveals nothing by itself, are open to anyone; every other request is authorised before its body is read. Every response carries the ID of its
 * request. Nothing that a client sends or fails to read affects any other request. A standby has an interface of its own, with health and metrics only.
 */
import { randomUUID } from "node:crypto"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http"
import { createServer as createSecureServer, type Server as SecureServer } from "node:https"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { type Clock, systemClock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { isPagePath, servePage } from "../../page/index.ts"
import type { Access, Action, Refusal } from "../access/access.ts"
import { type AuditWebhook, auditPath } from "../audit/audit-webhook.ts"
import type { Coverage, TimeRange } from "../export/coverage.ts"
import { type ExportSources, handleExportRequest } from "../export/handle.ts"
import { metricsContentType } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import { type ExportRefusal, refuse, respondJson, text } from "./body/http-answer.ts"
import { elapsed } from "./body/races.ts"
import { RequestBodies } from "./body/request-bodies.ts"
import { lastItemMs } from "./event-body.ts"
import { bracketed, ListenError } from "./listen-error.ts"
import { answerPast, type PastSources } from "./past.ts"
import { isPastPath, pastPaths, subscriptionPath } from "./past-request.ts"
import { answerPinned, answerPins, isPinsPath, type PinSources, pinnedPath } from "./pins.ts"
import {
  type CertificateFileError,
  type CertificateFiles,
  followServingCertificate,
  readServingCertificate,
  type ServingCertificate,
} from "./serving-certificate.ts"
import { answerSubscription, type SubscriptionSources } from "./subscription.ts"

// What the HTTP interface of a recorder that stands by answers: why it does not record, and its metrics. Everything else has to wait.

/** A recorder that has not begun to record, and may not for days. */
interface StandbySources {
  /** Why, in one line. */
  readonly reason: () => string
  readonly metrics: () => string
  readonly access: Access
}

/** 503 except for metrics: a Service then routes to the recorder that records. */
const answerStandby = (
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  path: string,
  { reason, metrics, access }: StandbySources,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (path !== "/metrics" || (method !== "GET" && method !== "HEAD")) return text(response, 503, `${reason()}\n`)
    const decision = yield* Effect.promise(() => access.decide(headers, "metrics"))
    if (decision.tag !== "refused") return text(response, 200, metrics(), metricsContentType)
    if (decision.status === 401) response.setHeader("WWW-Authenticate", "Bearer")
    refuse(response, decision)
  })

/** What the interface needs from the recorder. */
export interface HttpApiSources extends ExportSources, PastSources, SubscriptionSources {
  /** Why the recorder is not ready; `undefined` if it is. */
  readonly notReady: () => string | undefined
  /** What is not as it should be although the recorder is ready; `undefined`: nothing. */
  readonly degraded: () => string | undefined
  readonly verboseReadiness: () => string
  readonly metrics: Effect.Effect<string>
  readonly coverage: (window: TimeRange) => Effect.Effect<Coverage, ExportRefusal>
  /** The windows that are kept; absent: none are. */
  readonly pinned?: PinSources
  /** What takes audit events; `undefined`: nothing does. */
  readonly auditWebhook?: AuditWebhook | undefined
  /** Called for each rejected request. */
  readonly rejected: (facts: RejectedRequest) => void
}

interface RejectedRequest {
  readonly request: string
  /** Address of the client, or of the proxy in front of it. */
  readonly from: string
  /** Method and path. */
  readonly wanted: string
  readonly status: number
  readonly reason: string
}

/** A bound address. */
interface BoundAddress extends ApiServer {
  readonly port: number
  readonly url: string
}

/** A server without connections. Until {@link serveHttpApi}, every response says that the recorder is starting. */
interface ApiServer {
  readonly server: Server | SecureServer
  readonly answering: Answering
}

interface Answering {
  /** Set once, by {@link serveHttpApi}. */
  sources: HttpApiSources | undefined
  /** Set once, by {@link serveStandby}. */
  standby: StandbySources | undefined
  /** Requests in progress, including uploads that are being removed from their stores. */
  readonly requests: FiberSet.FiberSet<void>
  readonly bodies: RequestBodies
  readonly clock: Clock
}

/** ms that a stopping recorder waits for uploads to be removed from their stores. */
const uploadsRemovedMs = 10_000

/** A server that gets its connections by the event `connection`; with a certificate, they must speak TLS. Released with the scope. */
export const makeApiServer = (
  clock: Clock,
  certificate?: ServingCertificate,
): Effect.Effect<ApiServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(requests)()
    const answering: Answering = {
      sources: undefined,
      standby: undefined,
      requests,
      bodies: new RequestBodies(clock),
      clock,
    }
    const receive = (request: IncomingMessage, response: ServerResponse): void => {
      run(
        answer(request, response, answering).pipe(
          Effect.catchDefect((cause) =>
            Effect.sync(() => {
              if (response.headersSent) response.destroy()
              else text(response, 500, `${messageOf(cause)}\n`)
            }),
          ),
        ),
      )
    }
    const server = certificate === undefined ? createServer(receive) : createSecureServer(certificate, receive)
    // Without this, Node would ask every client for its body, before it is known whether it may send one.
    server.on("checkContinue", receive)
    return { server, answering }
  })

/** TLS in place of plain HTTP, and where the fate of replaced files is logged. */
interface ServingTls {
  readonly files: CertificateFiles
  readonly log: Pick<RecorderLog, "info" | "warn">
}

/** Binds the address, before anything is recorded that would have to be undone if binding failed. Released with the scope. */
export const bindHttpApi = (
  host: string,
  port: number,
  clock: Clock = systemClock,
  tls?: ServingTls,
): Effect.Effect<BoundAddress, ListenError | CertificateFileError, Scope.Scope> =>
  Effect.gen(function* () {
    const certificate = tls && (yield* readServingCertificate(tls.files))
    const { server, answering } = yield* makeApiServer(clock, certificate)
    const listening = Effect.callback<ApiServer["server"], ListenError>((resume) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(new ListenError({ host, port, code: error.code ?? error.message }))),
      )
      server.listen(port, host, () => resume(Effect.succeed(server)))
    })
    yield* Effect.acquireRelease(listening, close)
    const address = server.address()
    const actual = typeof address === "object" && address !== null ? address.port : port
    if (tls !== undefined && certificate !== undefined && "setSecureContext" in server)
      yield* Effect.forkScoped(followServingCertificate(server, tls.files, certificate, { log: tls.log, clock }))
    const scheme = tls === undefined ? "http" : "https"
    return { port: actual, url: `${scheme}://${bracketed(host)}:${actual}`, server, answering }
  })

/**
 * Serves all paths from now on. The end of the scope tells clients that follow the recording, then closes all connections, including open exports, so it must come
 * before the end of the recording.
 */
export const serveHttpApi = ({ server, answering }: ApiServer, sources: HttpApiSources) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      answering.sources = sources
    }),
    () =>
      subscriptionsEnded(sources, answering).pipe(
        Effect.andThen(close(server)),
        Effect.andThen(uploadsEnded(answering)),
      ),
  )

/** Clients that follow the recording receive an item that says that it stops, as far as they read. */
const subscriptionsEnded = ({ subscriptions }: SubscriptionSources, { clock }: Answering): Effect.Effect<void> =>
  Effect.raceFirst(
    Effect.promise(() => subscriptions.end()),
    elapsed(clock, lastItemMs),
  )

/** Answers for a recorder that stands by, until {@link serveHttpApi}. */
export const serveStandby = ({ answering }: ApiServer, standby: StandbySources): void => {
  answering.standby = standby
}

/** All connections are closed by now, but uploads that have started must still be ended in their stores. */
const uploadsEnded = ({ requests, clock }: Answering): Effect.Effect<void> =>
  Effect.raceFirst(FiberSet.awaitEmpty(requests), elapsed(clock, uploadsRemovedMs))

const close = (server: ApiServer["server"]): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** The header with a request's ID, which its log lines and error messages contain too. */
const requestIdHeader = "Kubereel-Request-Id"

/** The client's own ID if it is safe for a log line; else a new one. */
const requestIdOf = (headers: IncomingHttpHeaders): string => {
  const given = headers[requestIdHeader.toLowerCase()]
  return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

const answer = (request: IncomingMessage, response: ServerResponse, answering: Answering): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { sources, standby, bodies, clock } = answering
    const requestId = requestIdOf(request.headers)
    response.setHeader(requestIdHeader, requestId)
    // With a base, nearly everything is a valid URL; the rest (`http://[`) is nothing we serve.
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const path = url?.pathname ?? ""
    const reads = request.method === "GET" || request.method === "HEAD"
    const isExport = path === "/export" && request.method === "POST"
    const from = request.socket.remoteAddress ?? ""
    const discard = (): void => bodies.discard(request, response, from)
    if (path === auditPath && sources !== undefined) return yield* answerAudit(request, response, discard, sources)
    if (sources?.pinned !== undefined) {
      const { access, pinned } = sources
      const reject = (decision: Refusal): void =>
        rejectRequest(request, response, { requestId, path, decision, sources })
      const asked = { request, response, path, from, access, bodies, discard, reject }
      const below = pinnedPath(path)
      const decision = isPinsPath(path) || below ? access.otherHost?.(request.headers) : undefined
      if (decision !== undefined) {
        discard()
        return reject(decision)
      }
      if (isPinsPath(path)) return yield* answerPins(asked, pinned)
      if (below !== undefined)
        return yield* answerPinned(asked, below, pinned, () => answer(request, response, answering))
    }
    if (!isExport || sources === undefined) discard()
    if (path === "/healthz" && reads) return text(response, 200, "ok\n")
    if (sources === undefined && standby !== undefined) return yield* answerStandby(request, response, path, standby)
    if (sources === undefined) return text(response, 503, "the recorder is starting; try again\n")
    if (path === "/readyz" && reads) {
      const reason = sources.notReady()
      const degraded = sources.degraded()
      const fine = degraded === undefined ? "ok\n" : `degraded: ${degraded}\n`
      const short = reason === undefined ? fine : `not ready: ${reason.replace(/\.$/, "")}; see /readyz?verbose\n`
      const body = url?.searchParams.has("verbose") ? sources.verboseReadiness() : short
      return text(response, reason === undefined ? 200 : 503, body)
    }
    if (isPagePath(path)) {
      const decision = sources.access.otherHost?.(request.headers)
      if (decision !== undefined) return rejectRequest(request, response, { requestId, path, decision, sources })
      return servePage(request, response, path)
    }
    const action = actions.get(path) ?? (isPastPath(path) ? "query" : undefined)
    if (action === undefined) {
      if (path !== "/healthz" && path !== "/readyz")
        return text(
          response,
          404,
          `not found; available are /ui/, /healthz, /readyz, /metrics, /v1/coverage, ${pastPaths.join(", ")} and POST /export\n`,
        )
      return wrongMethod(response, "GET, HEAD")
    }
    const decision = yield* Effect.promise(() => sources.access.decide(request.headers, action))
    if (decision.tag === "refused") {
      if (isExport) discard()
      return rejectRequest(request, response, { requestId, path, decision, sources })
    }
    if (isPastPath(path)) {
      if (!reads) return wrongMethod(response, "GET, HEAD")
      const client = `${decision.who} at ${from}`
      const asked = { path, parameters: url?.searchParams ?? new URLSearchParams(), client, reader: decision.reader }
      return yield* path === subscriptionPath
        ? answerSubscription(request, response, asked, sources, clock)
        : answerPast(request, response, asked, sources, clock)
    }
    if (isExport) {
      return yield* handleExportRequest(request, response, { who: decision.who, requestId, bodies }, sources, clock)
    }
    if (action === "export") return wrongMethod(response, "POST")
    if (!reads) return wrongMethod(response, "GET, HEAD")
    if (action === "metrics") return text(response, 200, yield* sources.metrics, metricsContentType)
    return yield* answerCoverage(response, url?.searchParams ?? new URLSearchParams(), sources)
  })

const answerAudit = (
  request: IncomingMessage,
  response: ServerResponse,
  discard: () => void,
  { auditWebhook }: HttpApiSources,
): Effect.Effect<void> => {
  if (auditWebhook !== undefined) return Effect.promise(() => auditWebhook.answer(request, response, discard))
  discard()
  return Effect.sync(() => text(response, 404, "this recorder takes no audit events: it has no --audit-token-file\n"))
}

/** The paths that require a permission. */
const actions: ReadonlyMap<string, Action> = new Map([
  ["/export", "export"],
  ["/v1/coverage", "coverage"],
  ["/metrics", "metrics"],
])

const wrongMethod = (response: ServerResponse, allowed: string): void => {
  response.setHeader("Allow", allowed)
  text(
    response,
    405,
    allowed === "POST" ? "send an export request to /export with POST\n" : "only GET and HEAD are allowed\n",
  )
}

interface Rejection {
  readonly requestId: string
  readonly path: string
  readonly decision: Refusal
  readonly sources: HttpApiSources
}

const rejectRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, path, decision: { status, message }, sources }: Rejection,
): void => {
  const from = request.socket.remoteAddress ?? ""
  sources.rejected({ request: requestId, from, wanted: `${request.method} ${path}`, status, reason: message })
  if (status === 401) response.setHeader("WWW-Authenticate", "Bearer")
  refuse(response, { status, message, ...(status === 503 && { retryAfterSeconds: 1 }) })
}

const answerCoverage = (
  response: ServerResponse,
  parameters: URLSearchParams,
  sources: HttpApiSources,
): Effect.Effect<void> => {
  const [start, end] = [timeIn(parameters, "start", 0), timeIn(parameters, "end", Number.MAX_SAFE_INTEGER)]
  const unknown = [...parameters.keys()].find((name) => name !== "start" && name !== "end")
  if (unknown !== undefined || start === undefined || end === undefined || start > end) {
    const message =
      unknown === undefined
        ? "start and end must be µs since 1970, and start must not be after end"
        : `unknown parameter ${JSON.stringify(unknown)}; allowed are start and end, in µs since 1970`
    return Effect.sync(() => refuse(response, { status: 400, message }))
  }
  return respondJson(response, sources.coverage({ start, end }))
}

/** `undefined` if the parameter is not a time. */
const timeIn = (parameters: URLSearchParams, name: string, byDefault: number): number | undefined => {
  const given = parameters.get(name)
  if (given === null) return byDefault
  return /^\d{1,16}$/.test(given) && Number.isSafeInteger(Number(given)) ? Number(given) : undefined
}
