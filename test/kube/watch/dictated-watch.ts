/** A proxy in front of a server that responds to streaming lists itself, one line whenever the test says so, and then leaves them open. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { listeningUntilEnd } from "./listening-until-end.ts"

export class DictatedWatch {
  readonly #lines: string[]
  readonly #server = createServer((asked, answer) => this.#respond(asked, answer))
  #target: ApiEndpoint | undefined
  #open: ServerResponse | undefined

  constructor(lines: ReadonlyArray<string>) {
    this.#lines = [...lines]
  }

  /** Starts in front of the server, until the test ends. */
  async before(target: ApiEndpoint): Promise<ApiEndpoint> {
    this.#target = target
    return await listeningUntilEnd(this.#server, target)
  }

  /** A streaming list is open. */
  get isAsked(): boolean {
    return this.#open !== undefined
  }

  /** Sends the next line. */
  send(): void {
    this.#open?.write(`${this.#lines.shift()}\n`)
  }

  #respond(asked: IncomingMessage, answer: ServerResponse): void {
    const url = new URL(asked.url ?? "", this.#target?.server)
    if (url.searchParams.has("sendInitialEvents")) {
      this.#open = answer
      answer.writeHead(200, { "content-type": "application/json" }).flushHeaders()
      return
    }
    const onward = request(url, { headers: asked.headers, agent: false }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers).flushHeaders()
      response.pipe(answer)
    })
    onward.on("error", () => answer.destroy())
    answer.on("close", () => onward.destroy())
    onward.end()
  }
}
