/**
 * The recorder's HTTP interface: `/healthz`, `/readyz`, `/metrics`, `POST /export`.
 *
 * No authentication: it listens on loopback unless told otherwise. Whatever a client sends or fails to read costs it its own
 * answer and nothing else. An export that fails midway ends with a broken connection, never with a short body that looks
 * whole.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Clock, systemClock } from "../runtime/clock.ts"
import { messageOf } from "../runtime/errors.ts"
import { type ExportRequest, readExportRequest } from "./export-request.ts"
import type { ExportReader, RunningExport } from "./export-service.ts"
import { metricsContentType } from "./metrics-text.ts"
import { readBody } from "./request-body.ts"

/** Why an export cannot start: a message for the client and the status to send it with. */
export interface ExportRefusal {
  readonly status: number
  readonly message: string
}

/** What the interface shows; the recorder provides it. */
export interface HttpApiSources {
  readonly isReady: () => boolean
  readonly verboseReadiness: () => string
  readonly metrics: () => Promise<string>
  readonly startExport: (request: ExportRequest, reader: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>
}

/** An export under way, with what its headers say. */
export interface StartedExport extends RunningExport {
  /** Kinds that were not being watched when it was asked for, as text for a header; the trace itself names the same. */
  readonly incomplete: string | undefined
  /** Owners that nobody could tell of, as text for a header; `undefined` if all are known. */
  readonly unknownOwners: string | undefined
}

/** The address is taken, or may not be listened on. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  host: Schema.String,
  port: Schema.Number,
  code: Schema.String,
}) {
  override get message(): string {
    const where = `${bracketed(this.host)}:${this.port}`
    switch (this.code) {
      case "EADDRINUSE":
        return `port ${this.port} on ${this.host} is in use; choose another with --port (0 picks a free one)`
      case "EACCES":
        return `listening on ${where} is not permitted; choose a port above 1023 with --port`
      case "EADDRNOTAVAIL":
      case "EINVAL":
        return `${this.host} is not an address of this machine; choose one with --bind`
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return `there is no host ${this.host}; choose an address of this machine with --bind`
      default:
        return `cannot listen on ${where}: ${this.code}`
    }
  }
}

/** ms that an export waits for its client to take what was sent: dead clients must not hold an exporter's memory for ever. */
const clientPatienceMs = 300_000

/** An address that is ours. Until {@link serveHttpApi} whoever comes is told that the recorder is starting. */
export interface BoundAddress {
  readonly port: number
  readonly url: string
  readonly server: Server
  /** Who answers; set once. */
  readonly answering: { sources: HttpApiSources | undefined }
}

/** Takes the address, before anything is recorded that would have to be undone if it cannot be had. It is given back with the scope. */
export const bindHttpApi = (
  host: string,
  port: number,
  clock: Clock = systemClock,
): Effect.Effect<BoundAddress, ListenError, Scope.Scope> =>
  Effect.suspend(() => {
    const answering: BoundAddress["answering"] = { sources: undefined }
    const server = createServer((request, response) => {
      answer(request, response, answering.sources, clock).catch((cause: unknown) => {
        if (response.headersSent) response.destroy()
        else
          text(
            response,
            500,
            `${messageOf(cause)}
`,
          )
      })
    })
    const listening = Effect.callback<Server, ListenError>((resume) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(new ListenError({ host, port, code: error.code ?? error.message }))),
      )
      server.listen(port, host, () => resume(Effect.succeed(server)))
    })
    return Effect.acquireRelease(listening, close).pipe(
      Effect.map(() => {
        const address = server.address()
        const actual = typeof address === "object" && address !== null ? address.port : port
        return { port: actual, url: `http://${bracketed(host)}:${actual}`, server, answering }
      }),
    )
  })

/** Answers everything from now on. The end of the scope ends it, open exports included: so before that of what it asks. */
export const serveHttpApi = ({ server, answering }: BoundAddress, sources: HttpApiSources) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      answering.sources = sources
    }),
    () => close(server),
  )

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** An IPv6 address as URLs have it. */
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host)

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  sources: HttpApiSources | undefined,
  clock: Clock,
): Promise<void> => {
  // Relative to a base nearly everything is a URL; what is left (`http://[`) is nothing we serve.
  const url = URL.parse(request.url ?? "/", "http://localhost")
  const path = url?.pathname ?? ""
  const reads = request.method === "GET" || request.method === "HEAD"
  if (path === "/healthz" && reads) return text(response, 200, "ok\n")
  if (sources === undefined) return text(response, 503, "the recorder is starting; ask again\n")
  if (path === "/readyz" && reads) {
    const status = sources.isReady() ? 200 : 503
    const short = sources.isReady() ? "ok\n" : "not ready: first lists are under way; ask /readyz?verbose\n"
    return text(response, status, url?.searchParams.has("verbose") ? sources.verboseReadiness() : short)
  }
  if (path === "/metrics" && reads) return text(response, 200, await sources.metrics(), metricsContentType)
  if (path === "/export") {
    if (request.method === "POST") return await exportTrace(request, response, sources, clock)
    response.setHeader("Allow", "POST")
    return text(response, 405, "POST an export request to /export\n")
  }
  if (["/healthz", "/readyz", "/metrics"].includes(path)) {
    response.setHeader("Allow", "GET, HEAD")
    return text(response, 405, "only GET and HEAD\n")
  }
  text(response, 404, "not found; there are /healthz, /readyz, /metrics and POST /export\n")
}

const text = (response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void => {
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
  response.end(body)
}

const exportTrace = async (
  request: IncomingMessage,
  response: ServerResponse,
  sources: HttpApiSources,
  clock: Clock,
): Promise<void> => {
  const body = await readBody(request)
  if (body.tag === "gone") return
  // What is left of the request is not read, so nothing can follow it on this connection.
  if (body.tag === "too-large") response.setHeader("Connection", "close")
  const reading = body.tag === "too-large" ? body : readExportRequest(body.text)
  if (reading.tag !== "request") return text(response, reading.status, `${reading.message}\n`)
  await streamExport(response, sources, reading.request, clock)
}

const streamExport = (
  response: ServerResponse,
  sources: HttpApiSources,
  request: ExportRequest,
  clock: Clock,
): Promise<void> =>
  new Promise((resolve) => {
    const begin = (): void => {
      if (response.headersSent) return
      response.writeHead(200, {
        "Content-Type": request.format === "ndjson" ? "application/x-ndjson" : "application/octet-stream",
      })
    }
    // Pieces come by another way than the answer to `start` and may overtake it; the headers depend on that answer.
    const { promise: started, resolve: announceStart } = Promise.withResolvers<void>()
    const reader: ExportReader = {
      piece: async (data) => {
        await started
        begin()
        if (!response.destroyed && !response.write(data)) await drained(response, clock)
      },
      end: (error) => {
        if (error === undefined) {
          begin()
          response.end()
        } else fail(500, error)
        resolve()
      },
    }
    const fail = (status: number, message: string): void => {
      if (!response.headersSent) text(response, status, `${message}\n`)
      else if (!response.writableEnded) response.destroy()
    }
    Effect.runPromise(Effect.result(sources.startExport(request, reader))).then(
      (outcome) => {
        if (outcome._tag === "Failure") {
          fail(outcome.failure.status, outcome.failure.message)
          return resolve()
        }
        const { incomplete, gaps, leftOut, unknownOwners, cancel } = outcome.success
        // The client may have gone before there was anything to give up, and the exporter before its answer came.
        if (response.destroyed) cancel()
        else if (!response.headersSent) {
          if (incomplete !== undefined) response.setHeader("Kubereel-Incomplete", incomplete)
          if (gaps > 0) response.setHeader("Kubereel-Gaps", String(gaps))
          if (leftOut.length > 0) response.setHeader("Kubereel-Left-Out", leftOut.join(", "))
          if (unknownOwners !== undefined) response.setHeader("Kubereel-Unknown-Owners", unknownOwners)
        }
        announceStart()
        response.on("close", () => {
          if (!response.writableFinished) cancel()
          resolve()
        })
      },
      (cause: unknown) => reader.end(messageOf(cause)),
    )
  })

/** Resolves when the client has taken what was written, or is gone; a client that takes nothing is given up. */
const drained = (response: ServerResponse, clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    const patience = clock.after(clientPatienceMs, () => response.destroy())
    const done = (): void => {
      patience.cancel()
      response.off("drain", done)
      response.off("close", done)
      resolve()
    }
    response.on("drain", done)
    response.on("close", done)
  })
