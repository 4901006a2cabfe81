/**
 * The answer to a request as the end of an export. A slow client holds its export back; one that takes nothing for
 * {@link clientPatienceMs} is given up. What is cut short ends with a broken connection, never with a body that looks whole; a body
 * that is whole is followed by its SHA-256 as a trailer (RFC 9530).
 */
import type { ServerResponse } from "node:http"
import type { Clock } from "../../clock.ts"
import type { ExportFacts, ExportSink } from "./transfer.ts"

/** ms that an export waits for its client to take what was sent: dead clients must not hold an exporter's memory for ever. */
const clientPatienceMs = 300_000

const digestTrailer = "Repr-Digest"

/** As RFC 9530 writes it. */
export const reprDigest = (sha256: Buffer): string => `sha-256=:${sha256.toString("base64")}:`

export const responseSink = (response: ServerResponse, contentType: string, clock: Clock): ExportSink => ({
  begin(facts) {
    if (response.headersSent || response.destroyed) return
    setFacts(response, facts)
    response.setHeader("Content-Type", contentType)
    // A body of HTTP/1.0 ends with the connection and has no trailers.
    if (response.req.httpVersion !== "1.0") response.setHeader("Trailer", digestTrailer)
    response.statusCode = 200
  },
  take: (piece) => written(response, piece, clock),
})

/** Resolves when the system has the bytes, which are not used afterwards, or the client is gone. */
const written = (response: ServerResponse, piece: Uint8Array, clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const patience = clock.after(clientPatienceMs, () => response.destroy())
    const done = (): void => {
      patience.cancel()
      response.off("close", done)
      resolve()
    }
    response.on("close", done)
    response.write(piece, done)
  })

/** Ends the body; resolves when the client has it, or is gone. */
export const finishClient = async (response: ServerResponse, sha256: Buffer, clock: Clock): Promise<boolean> => {
  if (response.destroyed) return false
  // Without a piece there was no head yet.
  if (!response.headersSent) response.flushHeaders()
  if (response.hasHeader("Trailer")) response.addTrailers({ [digestTrailer]: reprDigest(sha256) })
  response.end()
  if (!response.writableFinished) await waitedFor(response, "finish", clock)
  return response.writableFinished
}

/** What is missing from a trace, and from its objects, as headers. */
export const setFacts = (response: ServerResponse, facts: ExportFacts): void => {
  const { incomplete, gaps, leftOut, unknownOwners, removed } = facts
  if (incomplete !== undefined) response.setHeader("Kubereel-Incomplete", incomplete)
  if (gaps > 0) response.setHeader("Kubereel-Gaps", String(gaps))
  if (leftOut.length > 0) response.setHeader("Kubereel-Left-Out", leftOut.join(", "))
  if (unknownOwners !== undefined) response.setHeader("Kubereel-Unknown-Owners", unknownOwners)
  if (removed.length > 0) response.setHeader("Kubereel-Removed", removed.join(", "))
}

/** Resolves when the client has taken what was written, or is gone; one that takes nothing is given up. */
const waitedFor = (response: ServerResponse, event: "finish", clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    const patience = clock.after(clientPatienceMs, () => response.destroy())
    const done = (): void => {
      patience.cancel()
      response.off(event, done)
      response.off("close", done)
      resolve()
    }
    response.on(event, done)
    response.on("close", done)
  })
