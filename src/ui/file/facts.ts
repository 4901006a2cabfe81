/** What a file says of itself as a whole, as src/trace/views/html/html-encoder.ts writes it. */

import type { Finding, Lack } from "../../timeline/index.ts"
import { SourceError } from "../source/source.ts"

export interface Facts {
  /** µs since the Unix epoch, both ends inclusive. */
  readonly from: number
  readonly to: number
  /** As GVK. */
  readonly kinds: ReadonlyArray<string>
  readonly lacks: ReadonlyArray<Lack>
  /** The first ones, of lanes `object/NUMBER`. */
  readonly findings: ReadonlyArray<Finding>
}

const VERSION = 1

/** @throws SourceError: the file is damaged, or of another version than its page */
export const factsIn = (json: string): Facts => {
  const facts: unknown = JSON.parse(json)
  if (!isFacts(facts)) throw new SourceError("failed", "this file was written by another version of its page")
  return facts
}

const isFacts = (facts: unknown): facts is Facts =>
  typeof facts === "object" && facts !== null && "version" in facts && facts.version === VERSION
