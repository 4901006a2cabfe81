/**
 * The recorder's HTTP interface: `/healthz`, `/readyz`, `/metrics`, `POST /export`.
 *
 * No authentication: it listens on loopback unless told otherwise. An export that fails midway ends with a broken
 * connection, never with a short body that looks whole.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { ExportRequest, exportRequestBytes, objectStoreOf } from "./export-request.ts"
import type { ExportReader, RunningExport } from "./export-service.ts"
import { metricsContentType } from "./metrics-text.ts"

/** What the interface shows; the recorder provides it. */
export interface HttpApiSources {
  readonly isReady: () => boolean
  readonly verboseReadiness: () => string
  readonly metrics: () => Promise<string>
  readonly incompleteHeader: () => string | undefined
  /** Fails with a message for the client and the status to send it with. */
  readonly startExport: (
    request: ExportRequest,
    reader: ExportReader
  ) => Effect.Effect<RunningExport, { readonly status: number; readonly message: string }>
}

/** The address is taken, or may not be listened on. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  host: Schema.String,
  port: Schema.Number,
  code: Schema.String
}) {
  override get message(): string {
    const where = `${this.host}:${this.port}`
    if (this.code === "EADDRINUSE") return `port ${this.port} on ${this.host} is in use; choose another with --port (0 picks a free one)`
    if (this.code === "EACCES") return `listening on ${where} is not permitted; choose a port above 1023 with --port`
    if (this.code === "EADDRNOTAVAIL") return `${this.host} is not an address of this machine; choose one with --bind`
    return `cannot listen on ${where}: ${this.code}`
  }
}

/** Answers the server and the port it listens on. It is closed with the scope, open exports included. */
export const serveHttpApi = (host: string, port: number, sources: HttpApiSources) =>
  Effect.acquireRelease(
    Effect.callback<Server, ListenError>((resume) => {
      const server = createServer((request, response) => void handle(request, response, sources))
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(new ListenError({ host, port, code: error.code ?? error.message })))
      )
      server.listen(port, host, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return { port: typeof address === "object" && address !== null ? address.port : port }
    })
  )

const handle = async (request: IncomingMessage, response: ServerResponse, sources: HttpApiSources): Promise<void> => {
  const url = new URL(request.url ?? "/", "http://localhost")
  const reads = request.method === "GET" || request.method === "HEAD"
  try {
    if (url.pathname === "/healthz" && reads) return text(response, 200, "ok\n")
    if (url.pathname === "/readyz" && reads) {
      const status = sources.isReady() ? 200 : 503
      const short = sources.isReady() ? "ok\n" : "not ready: first lists are under way; ask /readyz?verbose\n"
      return text(response, status, url.searchParams.has("verbose") ? sources.verboseReadiness() : short)
    }
    if (url.pathname === "/metrics" && reads) return text(response, 200, await sources.metrics(), metricsContentType)
    if (url.pathname === "/export") {
      if (request.method === "POST") return await exportTrace(request, response, sources)
      response.setHeader("Allow", "POST")
      return text(response, 405, "POST an export request to /export\n")
    }
    if (["/healthz", "/readyz", "/metrics"].includes(url.pathname)) {
      response.setHeader("Allow", "GET, HEAD")
      return text(response, 405, "only GET and HEAD\n")
    }
    text(response, 404, "not found; there are /healthz, /readyz, /metrics and POST /export\n")
  } catch (cause) {
    if (response.headersSent) response.destroy()
    else text(response, 500, `${cause instanceof Error ? cause.message : String(cause)}\n`)
  }
}

const text = (response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void => {
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
  response.end(body)
}

const exportTrace = async (request: IncomingMessage, response: ServerResponse, sources: HttpApiSources): Promise<void> => {
  const body = await readBody(request)
  if (body === undefined) return text(response, 413, `an export request has at most ${exportRequestBytes} bytes\n`)
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return text(response, 400, `the body is not JSON: ${cause instanceof Error ? cause.message : String(cause)}\n`)
  }
  const decoded = Schema.decodeUnknownExit(ExportRequest)(parsed)
  if (Exit.isFailure(decoded)) return text(response, 422, `not an export request: ${String(decoded.cause)}\n`)
  const store = objectStoreOf(decoded.value.export_path)
  if (store !== undefined) {
    return text(response, 501, `uploading to ${store} is not part of this version; ask for a file path and store the answer\n`)
  }
  await streamExport(response, sources, decoded.value)
}

const streamExport = (response: ServerResponse, sources: HttpApiSources, request: ExportRequest): Promise<void> =>
  new Promise((resolve) => {
    const begin = (): void => {
      if (response.headersSent) return
      const incomplete = sources.incompleteHeader()
      if (incomplete !== undefined) response.setHeader("Kubereel-Incomplete", incomplete)
      response.writeHead(200, {
        "Content-Type": request.format === "ndjson" ? "application/x-ndjson" : "application/octet-stream"
      })
    }
    // Pieces come by another way than the answer to `start` and may overtake it; the headers depend on that answer.
    const started = Promise.withResolvers<void>()
    const reader: ExportReader = {
      piece: async (data) => {
        await started.promise
        begin()
        // The piece lies in the exporter's memory until it is acknowledged; the socket may keep it longer.
        if (response.destroyed || response.write(Buffer.from(data))) return
        await new Promise<void>((drained) => {
          const done = (): void => {
            response.off("drain", done)
            response.off("close", done)
            drained()
          }
          response.on("drain", done)
          response.on("close", done)
        })
      },
      end: (error) => {
        if (error === undefined) {
          begin()
          response.end()
        } else if (response.headersSent) response.destroy()
        else text(response, 500, `${error}\n`)
        resolve()
      }
    }
    void Effect.runPromiseExit(sources.startExport(request, reader).pipe(Effect.result)).then((exit) => {
      if (Exit.isFailure(exit)) {
        reader.end(String(exit.cause))
        return
      }
      const outcome = exit.value
      if (outcome._tag === "Failure") {
        text(response, outcome.failure.status, `${outcome.failure.message}\n`)
        resolve()
        return
      }
      const { gaps, cancel } = outcome.success
      if (gaps > 0) response.setHeader("Kubereel-Gaps", String(gaps))
      started.resolve()
      response.on("close", () => {
        if (!response.writableFinished) cancel()
        resolve()
      })
    })
  })

/** `undefined` when it is too large; the rest is not read then. */
const readBody = (request: IncomingMessage): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const pieces: Array<Buffer> = []
    let length = 0
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length > exportRequestBytes) {
        request.pause()
        resolve(undefined)
      } else pieces.push(piece)
    })
    request.on("end", () => resolve(Buffer.concat(pieces).toString("utf8")))
    request.on("error", reject)
  })
