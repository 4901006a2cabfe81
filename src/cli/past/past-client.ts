/**
 * Asks a recording about the past: a running recorder, or what is in a directory, over the same interface.
 *
 * Guarantees: an answer that breaks off is an error (an ExportError) and never passes for a short one; numbers of objects are exact.
 */
import { exactJsonIn, isJsonObject, type JsonObject } from "../../trace/index.ts"
import { ExportCut } from "../export/connection/export-errors.ts"
import { askRecorder, type RecorderAddress } from "../export/connection/recorder-connection.ts"
import { piecesOf } from "../export/export-client.ts"

// The lines of an answer, however its bytes are cut into pieces.

const lineFeed = 0x0a

/** Lines without their ends. A line may be as long as an object. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let begun: Uint8Array[] = []
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      yield Buffer.concat([...begun, piece.subarray(start, end)])
      begun = []
      start = end + 1
    }
    if (start < piece.length) begun.push(Uint8Array.from(piece.subarray(start)))
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}

/** Where questions are asked. */
type PastPath = "kinds" | "objects" | "changes" | "differences" | "events"

/** Parameters of a question; absent ones are left out, of a list each is given. */
export type PastParameters = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/**
 * The values of an answer, one at a time. `ended` takes its end, which says what the answer lacks, or why the recorder ended it. Rejects with an ExportError, also with ExportRefused for a question
 * that has no answer.
 */
export async function* askPast(
  address: RecorderAddress,
  path: PastPath,
  parameters: PastParameters,
  signal: AbortSignal,
  ended: (end: JsonObject) => void = () => undefined,
): AsyncGenerator<JsonObject, void, void> {
  const { recorder } = address
  const texts = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    for (const each of [value].flat()) if (each !== undefined) texts.append(name, String(each))
  const response = await askRecorder(address, { path, parameters: texts, accept: "application/x-ndjson" }, signal)
  const cut = (reason: string): ExportCut => new ExportCut({ server: recorder.name, bytes: 0, reason })
  if (!/ndjson/.test(response.headers["content-type"] ?? "")) {
    response.resume()
    throw cut("it does not answer questions about the past: it is an older recorder, or none")
  }
  let end: JsonObject | undefined
  for await (const line of linesOf(piecesOf(response, recorder.name, signal))) {
    const value = exactJsonIn(line)
    if (!isJsonObject(value)) throw cut("the answer is not one of a recorder")
    if (value.type === "end") end = value
    else yield value
  }
  if (end === undefined) throw cut("the answer has no end")
  ended(end)
}
