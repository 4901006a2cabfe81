/**
 * Writes an export into an HTTP response. A slow client slows down only its own export; one that takes nothing for {@link clientTimeoutMs}
 * is disconnected. A truncated body ends with a broken connection, never looking complete; a complete body is followed by its SHA-256 as a
 * trailer (RFC 9530).
 */
import type { ServerResponse } from "node:http"
import type { Clock } from "../../clock.ts"
import type { ExportFacts, ExportSink } from "./transfer.ts"

/** ms that an export waits for its client to take what was sent: a dead client must not hold an exporter's memory for ever. */
export const clientTimeoutMs = 300_000

const digestTrailer = "Repr-Digest"
/** Number of changes left out because they change nothing for a replay: a trailer, or a header of a response without trace. */
export const unchangedField = "Kubereel-Unchanged"

/** In the syntax of RFC 9530. */
export const reprDigest = (sha256: Buffer): string => `sha-256=:${sha256.toString("base64")}:`

export const responseSink = (response: ServerResponse, contentType: string, clock: Clock): ExportSink => ({
  begin(facts) {
    if (response.headersSent || response.destroyed) return
    setFacts(response, facts)
    response.setHeader("Content-Type", contentType)
    // An HTTP/1.0 body ends with the connection and has no trailers.
    if (response.req.httpVersion !== "1.0") response.setHeader("Trailer", `${digestTrailer}, ${unchangedField}`)
    response.statusCode = 200
  },
  take: (piece) => written(response, piece, clock),
})

/**
 * Resolves when the operating system has taken the bytes, so that they can be reused, or when the client is gone. `late`: called if it has not taken them within
 * {@link clientTimeoutMs}; default: it is disconnected.
 */
export const written = (
  response: ServerResponse,
  piece: Uint8Array,
  clock: Clock,
  late: () => void = () => void response.destroy(),
): Promise<void> =>
  new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const timeout = clock.after(clientTimeoutMs, late)
    const done = (): void => {
      timeout.cancel()
      response.off("close", done)
      resolve()
    }
    response.on("close", done)
    response.write(piece, done)
  })

/** Ends the body; resolves when the client has all of it, or is gone. */
export const finishClient = async (
  response: ServerResponse,
  { sha256, unchanged }: { readonly sha256: Buffer; readonly unchanged: number },
  clock: Clock,
): Promise<boolean> => {
  if (response.destroyed) return false
  // Without a piece the headers have not been sent yet.
  if (!response.headersSent) response.flushHeaders()
  if (response.hasHeader("Trailer"))
    response.addTrailers({
      [digestTrailer]: reprDigest(sha256),
      ...(unchanged > 0 && { [unchangedField]: String(unchanged) }),
    })
  response.end()
  if (!response.writableFinished) await waitedFor(response, "finish", clock)
  return response.writableFinished
}

/** Sets the headers that name what is missing from the trace and from its objects. */
export const setFacts = (response: ServerResponse, facts: ExportFacts): void => {
  const { incomplete, future, gaps, late, leftOut, warnings, unknownOwners, removed, redacted } = facts
  if (incomplete !== undefined) response.setHeader("Kubereel-Incomplete", incomplete)
  if (future !== undefined) response.setHeader("Kubereel-Future", future)
  if (gaps > 0) response.setHeader("Kubereel-Gaps", String(gaps))
  if (late !== undefined) response.setHeader("Kubereel-Late", late)
  if (leftOut.length > 0) response.setHeader("Kubereel-Left-Out", leftOut.join(", "))
  if (warnings.length > 0) response.setHeader("Kubereel-Warnings", headerText(warnings.join("; ")))
  if (unknownOwners !== undefined) response.setHeader("Kubereel-Unknown-Owners", unknownOwners)
  if (redacted !== undefined) response.setHeader("Kubereel-Redacted", redacted)
  if (removed.length > 0) response.setHeader("Kubereel-Removed", removed.join(", "))
}

/** Maximum characters of a header: some clients limit all headers together to 8 KB. */
const longestHeader = 2000

/** Text as a header may contain it. Names are ASCII by Kubernetes' rules, but what came from elsewhere was never validated. */
export const headerText = (text: string): string => text.slice(0, longestHeader).replaceAll(/[^ -~]/g, "?")

/** Parts as a header may contain them, as many as fit; `rest` describes those after the first `shown`. `undefined`: there are no parts. */
export const headerList = (
  parts: ReadonlyArray<string>,
  longest: number,
  rest: (shown: number) => string,
): string | undefined => {
  let length = 0
  const shown = parts.findIndex((part) => {
    length += part.length + 2
    return length > longest
  })
  const text = shown === -1 ? parts : [...parts.slice(0, shown), rest(shown)]
  return text.length === 0 ? undefined : text.join(", ").replaceAll(/[^ -~]/g, "?")
}

/** Resolves when the client has taken what was written, or is gone; a client that takes nothing is disconnected. */
const waitedFor = (response: ServerResponse, event: "finish", clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    const timeout = clock.after(clientTimeoutMs, () => response.destroy())
    const done = (): void => {
      timeout.cancel()
      response.off(event, done)
      response.off("close", done)
      resolve()
    }
    response.on(event, done)
    response.on("close", done)
  })
