/** One request as bytes over a connection of its own, so that what no HTTP client would send arrives as it is. */
import type { Duplex } from "node:stream"
import { Received } from "./received.ts"
import { type SentRequest, wireBytes } from "./request-mutants.ts"

/**
 * Sends a request. The response grows while it arrives; of a request that is cut off there is none, and the connection is given up after
 * `afterCut`.
 */
export const sendRaw = (connection: Duplex, request: SentRequest, afterCut: () => Promise<unknown>): Received => {
  const bytes = wireBytes(request)
  const received = new Received(request.method)
  connection.on("data", (part: Buffer) => received.push(part))
  connection.on("error", () => connection.destroy())
  connection.on("close", () => received.end())
  connection.on("end", () => received.end())
  if (isCut(request)) {
    connection.write(bytes.subarray(0, request.cutAt))
    void afterCut().then(() => connection.destroy())
  } else connection.write(bytes)
  return received
}

/** Whether the client hangs up before all is sent. */
export const isCut = (request: SentRequest): boolean =>
  request.cutAt !== undefined && request.cutAt < wireBytes(request).length
