/**
 * One of the two servers that are compared: plain requests, nothing of our own protocol code.
 *
 * Every request goes to its server unchanged, so that malformed paths and bodies arrive as they were written.
 */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { type Connection, readText } from "../connection.ts"

/** What is sent. */
export interface Request {
  readonly method: string
  /** Path and query, encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** What came back. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  /** `Warning` headers in the order of their arrival. */
  readonly warnings: readonly string[]
  readonly retryAfter: string
  readonly text: string
}

/** The name that servers derive a field manager from when a request names none. */
export const userAgent = "conformance/1.0 (linux/amd64)"

/** No request takes longer, except for an accidental watch. */
const longestMs = 20_000

export class Target {
  readonly name: string
  /** `host:port`, as error messages and discovery show it. */
  readonly host: string
  readonly #connection: Connection
  readonly #agent: HttpAgent

  constructor(name: string, connection: Connection) {
    this.name = name
    this.host = new URL(connection.server).host
    this.#connection = connection
    const isTls = connection.server.startsWith("https:")
    const { ca, cert, key, rejectUnauthorized } = connection.options
    const tls = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    }
    this.#agent = isTls ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true })
  }

  /** The head of a response; its body is not read yet. @throws the system's error if there is no response. */
  open({ method, path, headers, body }: Request, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { hostname, port, protocol } = new URL(this.#connection.server)
      const start = protocol === "https:" ? httpsRequest : httpRequest
      const all = { "user-agent": userAgent, ...this.#connection.options.headers, ...headers }
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
      const options = { hostname, port, path, method, agent: this.#agent, headers: { ...all, ...length } }
      const sent = start({ ...options, ...(signal === undefined ? {} : { signal }) }, resolve)
      sent.on("error", reject)
      sent.end(body)
    })
  }

  async send(request: Request): Promise<Answer> {
    const signal = AbortSignal.timeout(longestMs)
    const response = await this.open(request, signal)
    const { headers } = response
    return {
      status: response.statusCode ?? 0,
      contentType: headers["content-type"] ?? "",
      warnings: headers.warning === undefined ? [] : splitWarnings(headers.warning),
      retryAfter: headers["retry-after"] ?? "",
      text: await readText(response),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Node joins repeated headers by commas; a warning is `299 - "text"`, so the next begins after `", `. */
const splitWarnings = (joined: string): readonly string[] => joined.split(/(?<="), (?=\d{3} )/)
