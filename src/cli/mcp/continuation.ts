/** Where the next page of an answer begins, as a text that assistants give back unread. */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Misasked } from "../past/asking.ts"

const Continuation = Schema.Struct({
  /** Items of all pages before. */
  skip: Schema.Number,
  /** µs since the Unix epoch: what `now` was for the first page, so that all pages are of the same time. */
  moment: Schema.Number,
  /** Fingerprint of the question. */
  question: Schema.String,
})

const Text = Schema.fromJsonString(Continuation)

/** A question by its tool and its parameters, apart from those that concern pages. */
export const fingerprintOf = (tool: string, given: Readonly<Record<string, unknown>>): string => {
  const { limit: _, continue: __, ...others } = given
  const members = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1))
  return createHash("sha256")
    .update(JSON.stringify([tool, members]))
    .digest("base64url")
    .slice(0, 12)
}

export const writeContinuation = (continuation: typeof Continuation.Type): string =>
  Buffer.from(Schema.encodeSync(Text)(continuation)).toString("base64url")

/** @throws Misasked for a text that is none, or is of another question */
export const readContinuation = (text: string, question: string): typeof Continuation.Type => {
  const reading = Schema.decodeUnknownResult(Text)(Buffer.from(text, "base64url").toString("utf8"))
  if (Result.isFailure(reading) || !isWhole(reading.success.skip) || !isWhole(reading.success.moment))
    throw new Misasked("continue is not what an answer of this server had: leave it out to begin anew")
  if (reading.success.question !== question)
    throw new Misasked("continue is of another question: repeat all parameters of the first page, or leave it out")
  return reading.success
}

const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
