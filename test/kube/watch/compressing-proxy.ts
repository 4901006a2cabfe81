/** A proxy in front of a server that compresses the lists of clients that accept it, as API servers do, or does it wrongly. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { listeningUntilEnd } from "./listening-until-end.ts"

/** What is sent instead of the body, and the coding that it is said to have. */
export type Compression = (body: Buffer, list: number) => readonly [coding: string, sent: Uint8Array]

export const gzip: Compression = (body) => ["gzip", gzipSync(body)]

export class CompressingProxy {
  readonly #compress: Compression
  readonly #server = createServer((asked, answer) => this.#forward(asked, answer))
  #target: ApiEndpoint | undefined
  /** `Accept-Encoding` of each request for a list, and whether its response was compressed. */
  readonly lists: string[] = []

  constructor(compress: Compression = gzip) {
    this.#compress = compress
  }

  /** Starts in front of the server, until the test ends. */
  async before(target: ApiEndpoint): Promise<ApiEndpoint> {
    this.#target = target
    return await listeningUntilEnd(this.#server, target)
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    const url = new URL(asked.url ?? "", this.#target?.server)
    const onward = request(url, { headers: asked.headers, agent: false }, (response) => {
      const accepted = String(asked.headers["accept-encoding"])
      const isList = url.pathname.endsWith("/configmaps") && !url.searchParams.has("watch")
      if (isList) this.lists.push(accepted)
      if (!isList || accepted !== "gzip") {
        answer.writeHead(response.statusCode ?? 500, response.headers)
        answer.flushHeaders()
        response.pipe(answer)
        return
      }
      const pieces: Buffer[] = []
      response.on("data", (piece: Buffer) => pieces.push(piece))
      response.on("end", () => {
        const [coding, sent] = this.#compress(Buffer.concat(pieces), this.lists.length)
        const { "content-length": _, "transfer-encoding": __, ...headers } = response.headers
        answer.writeHead(response.statusCode ?? 500, {
          ...headers,
          "content-encoding": coding,
          "content-length": sent.length,
        })
        answer.end(sent)
      })
    })
    onward.on("error", () => answer.destroy())
    answer.on("close", () => onward.destroy())
    onward.end()
  }
}
