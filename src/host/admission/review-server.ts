/**
 * The HTTPS server that an API server asks, with `POST` and a review as JSON. Bodies and the number of connections are bounded, and the certificate
 * can be replaced while it serves.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Server } from "node:https"
import type { AddressInfo } from "node:net"
import { messageOf } from "../../message-of.ts"
import type { ServerCertificate } from "./certificate.ts"

/** A response. A status of 200 has JSON, any other a sentence. */
export interface ReviewReply {
  readonly status: number
  readonly text: string
}

interface ReviewServerOptions {
  /** Where it listens; port 0: any that is free. */
  readonly address: string
  readonly port: number
  readonly certificate: Omit<ServerCertificate, "authority">
  /** Whether there is anything at a path; others are answered with 404. */
  readonly serves: (path: string) => boolean
  /** `body` `undefined`: it had more than {@link mostBytes} bytes. */
  readonly answer: (path: string, body: string | undefined) => Promise<ReviewReply>
  /** Gets one sentence for each request that could not be answered. */
  readonly onProblem: (problem: string) => void
}

/** Old and new state of the largest object that etcd accepts, 1.5 MiB each, escaped. */
export const mostBytes = 8 * 1024 * 1024
/**
 * API servers keep connections for 90 s. If this side closed one first, a review sent at that moment would be lost, and a POST is not repeated.
 */
const keepAliveMs = 300_000
/** An API server needs one for each object that is written at the same moment: at most 600 by default, its requests in flight. */
const mostConnections = 1024

/** A server that listens from {@link ReviewServer.start} to {@link ReviewServer.close}. */
export class ReviewServer {
  readonly #server: Server
  readonly port: number

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** Rejects with the error of the socket. */
  static async start(options: ReviewServerOptions): Promise<ReviewServer> {
    // Controllers without webhooks run without it: it costs 5 MB.
    const { createServer } = await import("node:https")
    const { certificate: cert, key } = options.certificate
    const server = createServer({ cert, key, keepAliveTimeout: keepAliveMs }, (request, response) => {
      handle(request, response, options).catch((error: unknown) => {
        // The connection broke: a response cannot arrive.
        options.onProblem(`a review could not be read: ${messageOf(error)}`)
        response.destroy()
      })
    })
    server.maxConnections = mostConnections
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(options.port, options.address, () => {
        server.off("error", reject)
        // Such as too many open files: that connection is lost, the others continue.
        server.on("error", (error) => options.onProblem(`a connection to the webhook failed: ${messageOf(error)}`))
        resolve()
      })
    })
    return new ReviewServer(server)
  }

  /** For connections from now on. */
  replaceCertificate({ certificate: cert, key }: Omit<ServerCertificate, "authority">): void {
    this.#server.setSecureContext({ cert, key })
  }

  /** Resolves when all connections are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}

const handle = async (
  request: IncomingMessage,
  response: ServerResponse,
  { serves, answer }: ReviewServerOptions,
): Promise<void> => {
  const [path = ""] = (request.url ?? "").split("?", 1)
  if (!serves(path)) return reply(response, { status: 404, text: "not found\n" })
  if (request.method !== "POST") return reply(response, { status: 405, text: "only POST is allowed\n" })
  reply(response, await answer(path, await read(request)))
}

/** `undefined`: too long. */
const read = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    // The rest is read all the same: the API server does not listen before it has sent everything.
    if (length <= mostBytes) chunks.push(chunk)
  }
  return length > mostBytes ? undefined : Buffer.concat(chunks).toString("utf8")
}

const reply = (response: ServerResponse, { status, text }: ReviewReply): void => {
  const type = status === 200 ? "application/json" : "text/plain"
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text)
}
