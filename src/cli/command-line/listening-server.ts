/** Small HTTP servers of commands: how they listen and end, and what those of a host serve. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"
import { bracketed, formatMetrics, isOwnHost, type Metric, metricsContentType, text } from "../../recorder/index.ts"
import { exitCodes } from "./exit-codes.ts"
import type { ListenAddress } from "./listen-option.ts"

/** The address cannot be listened on. `option` names it on the command line. */
class AddressUnavailable extends Schema.TaggedError<AddressUnavailable>()("AddressUnavailable", {
  option: Schema.String,
  address: Schema.String,
  code: Schema.String,
}) {
  readonly exitCode = exitCodes.failed

  override get message(): string {
    const why = this.code === "EADDRINUSE" ? "it is in use" : this.code
    return `cannot listen on ${this.address}: ${why}; choose another ${this.option} ADDRESS:PORT (port 0 is any free one)`
  }
}

/**
 * Whether a request comes by an address of the server, `localhost` or the name that it listens on; if not it is answered with 421: a web page whose
 * name was changed to resolve to this machine (DNS rebinding) must not read metrics. Call it before anything else is answered.
 */
export const isByOwnName = (request: IncomingMessage, response: ServerResponse, { host }: ListenAddress): boolean => {
  if (isOwnHost(request.headers.host, new Set(["localhost", host.toLowerCase()]))) return true
  text(
    response,
    421,
    "the host name is not allowed: use localhost, an IP address, or the name that this server listens on\n",
  )
  return false
}

/** A server that listens; disposing closes it and its connections. */
export interface ListeningServer extends AsyncDisposable {
  readonly url: string
}

/** Rejects with {@link AddressUnavailable}. */
export const listenOn = async (
  server: Server,
  { host, port }: ListenAddress,
  option: string,
): Promise<ListeningServer> => {
  await new Promise<void>((resolve, reject) => {
    // Stays: after the server listens, an error such as too many open files loses one connection, and must not end the command.
    server.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        new AddressUnavailable({ option, address: `${bracketed(host)}:${port}`, code: error.code ?? error.message }),
      ),
    )
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const actual = typeof address === "object" && address !== null ? address.port : port
  return {
    url: `http://${bracketed(host)}:${actual}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

// `GET /healthz`, `/readyz` and `/metrics` of a running host. Nothing can be changed here, and nothing of the cluster can be read: there are
// only names of modules and numbers.
//
// `/healthz` succeeds while the process answers: a restart would help against nothing else. `/readyz` succeeds while every condition is met.

/** One condition of being ready. */
export interface Condition {
  readonly name: string
  readonly isMet: boolean
  /** What there is, or what is missing. */
  readonly detail: string
}

interface ServedHost {
  readonly conditions: () => ReadonlyArray<Condition> | Promise<ReadonlyArray<Condition>>
  /** As texts they are in the format that is served. */
  readonly metrics: () => Promise<ReadonlyArray<Metric> | string>
}

/** Rejects with AddressUnavailable. */
export const serveHost = (address: ListenAddress, { conditions, metrics }: ServedHost): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    const [path, query = ""] = (request.url ?? "").split("?")
    if (request.method !== "GET" && request.method !== "HEAD") text(response, 405, "only GET is possible\n")
    else if (path === "/healthz") text(response, 200, "ok\n")
    else if (path === "/readyz") {
      Promise.resolve(conditions()).then((all) => {
        const isReady = all.every(({ isMet }) => isMet)
        const isVerbose = !isReady || new URLSearchParams(query).has("verbose")
        text(response, isReady ? 200 : 503, isVerbose ? all.map(lineOf).join("") : "ok\n")
      }, failed(response))
    } else if (path === "/metrics" && isByOwnName(request, response, address))
      metrics().then((found) => {
        text(response, 200, typeof found === "string" ? found : formatMetrics(found), metricsContentType)
      }, failed(response))
    else if (path !== "/metrics") text(response, 404, "/healthz, /readyz and /metrics are served\n")
  })
  return listenOn(server, address, "--listen")
}

const failed =
  (response: ServerResponse) =>
  (cause: unknown): void =>
    text(response, 500, `${messageOf(cause)}\n`)

const lineOf = ({ name, isMet, detail }: Condition): string => `${isMet ? "[+]" : "[-]"}${name}: ${detail}\n`
