/**
 * The recorder's HTTP interface: `/healthz`, `/readyz`, `/metrics`, `GET /v1/coverage`, `POST /export`.
 *
 * The health probes answer everybody; who may have the rest is decided before anything of the request but its head is read.
 * Every answer carries the name of its request. Whatever a client sends or fails to read costs it its own answer and nothing else.
 */
import { randomUUID } from "node:crypto"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { type Clock, systemClock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { Access, Action, Refusal } from "../access/access.ts"
import { type ExportSources, handleExportRequest } from "../export/handle.ts"
import type { ExportRefusal } from "../export/request.ts"
import { metricsContentType } from "../metrics/metrics-text.ts"
import { elapsed } from "../races.ts"
import type { Coverage, TimeRange } from "./coverage.ts"
import { refuse, respondJson, text } from "./http-answer.ts"
import { bracketed, ListenError } from "./listen-error.ts"

export { ListenError } from "./listen-error.ts"

/** What the interface shows; the recorder provides it. */
export interface HttpApiSources extends ExportSources {
  readonly isReady: () => boolean
  readonly verboseReadiness: () => string
  readonly metrics: Effect.Effect<string>
  readonly coverage: (window: TimeRange) => Effect.Effect<Coverage, ExportRefusal>
  readonly access: Access
  /** A request was rejected. */
  readonly turnedAway: (facts: TurnedAway) => void
}

interface TurnedAway {
  readonly request: string
  /** Address of the client, or of the proxy it came by. */
  readonly from: string
  /** Method and path. */
  readonly wanted: string
  readonly status: number
  readonly reason: string
}

/** An address that is ours. Until {@link serveHttpApi} whoever comes is told that the recorder is starting. */
interface BoundAddress {
  readonly port: number
  readonly url: string
  readonly server: Server
  readonly answering: Answering
}

interface Answering {
  /** Who answers; set once. */
  sources: HttpApiSources | undefined
  /** Requests that are not over, uploads that are being removed from their stores included. */
  readonly requests: FiberSet.FiberSet<void>
  readonly clock: Clock
}

/** ms that a recorder which ends waits for uploads to be removed from their stores. */
const uploadsRemovedMs = 10_000

/** Takes the address, before anything is recorded that would have to be undone if it cannot be had. It is given back with the scope. */
export const bindHttpApi = (
  host: string,
  port: number,
  clock: Clock = systemClock,
): Effect.Effect<BoundAddress, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(requests)()
    const answering: Answering = { sources: undefined, requests, clock }
    const server = createServer((request, response) => {
      run(
        answer(request, response, answering.sources, clock).pipe(
          Effect.catchDefect((cause) =>
            Effect.sync(() => {
              if (response.headersSent) response.destroy()
              else text(response, 500, `${messageOf(cause)}\n`)
            }),
          ),
        ),
      )
    })
    const listening = Effect.callback<Server, ListenError>((resume) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(new ListenError({ host, port, code: error.code ?? error.message }))),
      )
      server.listen(port, host, () => resume(Effect.succeed(server)))
    })
    yield* Effect.acquireRelease(listening, close)
    const address = server.address()
    const actual = typeof address === "object" && address !== null ? address.port : port
    return { port: actual, url: `http://${bracketed(host)}:${actual}`, server, answering }
  })

/** Answers everything from now on. The end of the scope ends it, open exports included: so before that of what it asks. */
export const serveHttpApi = ({ server, answering }: BoundAddress, sources: HttpApiSources) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      answering.sources = sources
    }),
    () => Effect.andThen(close(server), allOver(answering)),
  )

/** Connections are closed by now, so nobody waits for an answer; what has begun in a store is to be ended there. */
const allOver = ({ requests, clock }: Answering): Effect.Effect<void> =>
  Effect.raceFirst(FiberSet.awaitEmpty(requests), elapsed(clock, uploadsRemovedMs))

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** The name of a request: in its answer, in the log, and in what a person is told. */
const requestIdHeader = "Kubereel-Request-Id"

/** That of the client, if it is one that may stand in a log line; else a new one. */
const requestIdOf = (headers: IncomingHttpHeaders): string => {
  const given = headers[requestIdHeader.toLowerCase()]
  return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

const answer = (
  request: IncomingMessage,
  response: ServerResponse,
  sources: HttpApiSources | undefined,
  clock: Clock,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const requestId = requestIdOf(request.headers)
    response.setHeader(requestIdHeader, requestId)
    // Relative to a base nearly everything is a URL; what is left (`http://[`) is nothing we serve.
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const path = url?.pathname ?? ""
    const reads = request.method === "GET" || request.method === "HEAD"
    if (path === "/healthz" && reads) return text(response, 200, "ok\n")
    if (sources === undefined) return text(response, 503, "the recorder is starting; try again\n")
    if (path === "/readyz" && reads) {
      const status = sources.isReady() ? 200 : 503
      const short = sources.isReady() ? "ok\n" : "not ready: first lists are not complete; see /readyz?verbose\n"
      return text(response, status, url?.searchParams.has("verbose") ? sources.verboseReadiness() : short)
    }
    const action = actions.get(path)
    if (action === undefined) {
      if (path !== "/healthz" && path !== "/readyz")
        return text(
          response,
          404,
          "not found; available are /healthz, /readyz, /metrics, /v1/coverage and POST /export\n",
        )
      return wrongMethod(response, "GET, HEAD")
    }
    const decision = yield* Effect.promise(() => sources.access.decide(request.headers, action))
    if (decision.tag === "refused") return turnAway(request, response, { requestId, path, decision, sources })
    if (action === "export") {
      if (request.method !== "POST") return wrongMethod(response, "POST")
      return yield* handleExportRequest(request, response, { who: decision.who, requestId }, sources, clock)
    }
    if (!reads) return wrongMethod(response, "GET, HEAD")
    if (action === "metrics") return text(response, 200, yield* sources.metrics, metricsContentType)
    return yield* answerCoverage(response, url?.searchParams ?? new URLSearchParams(), sources)
  })

/** What there is for those who may. */
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

interface Turned {
  readonly requestId: string
  readonly path: string
  readonly decision: Refusal
  readonly sources: HttpApiSources
}

const turnAway = (
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, path, decision: { status, message }, sources }: Turned,
): void => {
  const from = request.socket.remoteAddress ?? ""
  sources.turnedAway({ request: requestId, from, wanted: `${request.method} ${path}`, status, reason: message })
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

/** `undefined` if it is none. */
const timeIn = (parameters: URLSearchParams, name: string, byDefault: number): number | undefined => {
  const given = parameters.get(name)
  if (given === null) return byDefault
  return /^\d{1,16}$/.test(given) && Number.isSafeInteger(Number(given)) ? Number(given) : undefined
}
