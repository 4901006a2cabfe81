/** What stands for a recorder: an HTTP server that answers exports as a test says, and keeps the requests. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { onTestFinished } from "vitest"
import { startWebServer } from "../../kube/http/web-server.ts"

export interface Asked {
  /** `POST /export` */
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Record<string, unknown>
}

/** Of one request. */
export type Answer = (response: ServerResponse, asked: Asked) => unknown

export interface RecorderStandIn {
  readonly url: string
  readonly asked: ReadonlyArray<Asked>
  readonly close: () => Promise<void>
}

/** Closed when the test has ended. */
export const recorderStandIn = async (answer: Answer): Promise<RecorderStandIn> => {
  const asked: Asked[] = []
  const server = await startWebServer(async (request, response) => {
    const body = await text(request)
    const { url = "", method, headers } = request
    const one = { path: `${method} ${url}`, headers, body: body === "" ? {} : JSON.parse(body) }
    asked.push(one)
    answer(response, one)
  })
  const close = (): Promise<void> => Promise.resolve(server[Symbol.asyncDispose]())
  onTestFinished(close)
  return { url: `http://127.0.0.1:${server.port}`, asked, close }
}
