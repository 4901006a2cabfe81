/** A collector on the loopback interface that answers as it is told, and keeps what it was sent; and a clock for those who wait for it. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Timer } from "../../../src/clock.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

/** What a collector was sent in one request. */
export interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A collector that runs. */
export interface Collector extends AsyncDisposable {
  /** With the path `/v1/traces`. */
  readonly url: string
  readonly received: ReadonlyArray<Received>
}

/** Starts one. `answer` is called with the number of the request, from 0 on. */
export const startCollector = async (
  answer: (response: ServerResponse, number: number) => void = (response) => response.end("{}"),
): Promise<Collector> => {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const { method, url, headers } = request
      received.push({ method, url, headers, body: Buffer.concat(pieces) })
      answer(response, received.length - 1)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** How long an answer is waited for, in ms. */
export const ANSWER_MS = 10_000

/** Waits between attempts are over at once, and are noted; those for an answer are over when the test moves the clock. */
export class CollectorClock extends ManualClock {
  /** In ms. */
  readonly waits: number[] = []

  override after(delayMs: number, action: () => void): Timer {
    if (delayMs === ANSWER_MS) return super.after(delayMs, action)
    this.waits.push(delayMs)
    queueMicrotask(action)
    return { cancel: () => undefined }
  }
}
