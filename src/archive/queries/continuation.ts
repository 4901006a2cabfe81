/** Where the next page of a state begins, as a text that clients give back unread. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { QuestionRefused } from "./query-errors.ts"

const Continuation = Schema.Struct({
  gvk: Schema.String,
  time: Schema.Number,
  order: Schema.Literals(["name", "change"]),
  /** All pages read up to the same event. */
  cut: Schema.Number,
  /** The last object of the page before. `place`: `namespace/name`; empty in the order of changes. */
  after: Schema.Struct({ place: Schema.String, sequence: Schema.Number }),
})
export type Continuation = typeof Continuation.Type

const Text = Schema.fromJsonString(Continuation)

export const writeContinuation = (continuation: Continuation): string =>
  Buffer.from(Schema.encodeSync(Text)(continuation)).toString("base64url")

/** @throws QuestionRefused for a text that is none, or of another question */
export const readContinuation = (
  text: string | undefined,
  { gvk, time, order }: Pick<Continuation, "gvk" | "time" | "order">,
): Continuation | undefined => {
  if (text === undefined) return undefined
  const reading = Schema.decodeUnknownResult(Text)(Buffer.from(text, "base64url").toString("utf8"))
  if (Result.isFailure(reading))
    throw new QuestionRefused({ problem: "the continuation is not one of this program", fault: "request" })
  const found = reading.success
  if (found.gvk !== gvk || found.time !== time || found.order !== order)
    throw new QuestionRefused({ problem: "the continuation is of another question", fault: "request" })
  return found
}
