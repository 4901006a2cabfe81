/** Reads the answer to an export request of OTLP/HTTP in JSON: total for anything a server may send, and bounded. */
import { isRecord } from "../../is-record.ts"

/** What a server answered. */
export interface ExportAnswer {
  readonly status: number
  /** The header `Retry-After`. */
  readonly retryAfter: string | null
  readonly body:
    | {
        readonly _tag: "Understood"
        /** Spans that were refused although the request was taken. */
        readonly rejected: number
        /** What the server said; `undefined`: nothing. */
        readonly message: string | undefined
      }
    | { readonly _tag: "Garbage"; readonly detail: string }
}

/** Answers have some hundred bytes. */
const MOST_BYTES = 64 * 1024
/** Characters of a message that people are shown. */
const LONGEST_MESSAGE = 500

/** Reads it. Rejects if the connection breaks. */
export const exportAnswer = async (response: Response): Promise<ExportAnswer> => ({
  status: response.status,
  retryAfter: response.headers.get("retry-after"),
  body: understood(await textOf(response)),
})

/** `undefined`: it is too long. */
const textOf = async (response: Response): Promise<string | undefined> => {
  if (response.body === null) return ""
  const pieces: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const piece of response.body) {
    bytes += piece.length
    if (bytes > MOST_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const understood = (text: string | undefined): ExportAnswer["body"] => {
  if (text === undefined) return { _tag: "Garbage", detail: `the answer has more than ${MOST_BYTES} bytes` }
  // A message with nothing in it may be written as nothing.
  if (text.trim() === "") return { _tag: "Understood", rejected: 0, message: undefined }
  const answer = parsed(text)
  if (!isRecord(answer)) return { _tag: "Garbage", detail: "the answer is no JSON object" }
  // A failure is a google.rpc.Status, a success may have a part that failed.
  const partial = answer.partialSuccess ?? answer.partial_success
  if (!isRecord(partial)) return { _tag: "Understood", rejected: 0, message: messageIn(answer.message) }
  const rejected = Number(partial.rejectedSpans ?? partial.rejected_spans ?? 0)
  if (!Number.isSafeInteger(rejected) || rejected < 0)
    return { _tag: "Garbage", detail: "the number of rejected spans is not one" }
  return { _tag: "Understood", rejected, message: messageIn(partial.errorMessage ?? partial.error_message) }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const messageIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, LONGEST_MESSAGE) : undefined
