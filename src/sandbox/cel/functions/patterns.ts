/** Regular expressions with Go's syntax, and `find` and `findAll`. A pattern that cannot be used is an error of the evaluation. */

import type { RE2JS } from "re2js"
import { compilePattern, PatternError } from "../../schema/pattern.ts"
import { matching } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { List, sizeOf, type Value } from "../values.ts"

/** The latest pattern: expressions use the same one over and over, for each item of a list. */
let latest: { readonly text: string; readonly pattern: RE2JS } | undefined

/** Throws EvaluationError. */
export const compiledPattern = (text: string): RE2JS => {
  if (latest?.text === text) return latest.pattern
  try {
    const pattern = compilePattern(text)
    latest = { text, pattern }
    return pattern
  } catch (error) {
    if (error instanceof PatternError) return fail(error.message)
    throw error
  }
}

const found = (text: string, pattern: string, limit: number): ReadonlyArray<string> => {
  const matcher = compiledPattern(pattern).matcher(text)
  const all: string[] = []
  while (all.length < limit && matcher.find()) all.push(matcher.group() ?? "")
  return all
}

const cost = ([text, pattern]: ReadonlyArray<Value>): number => matching(sizeOf(text), sizeOf(pattern))

export const patterns: ReadonlyArray<Overload> = [
  overload<[string, string]>(
    "string::find(string) -> string",
    ([text, pattern]) => found(text, pattern, 1)[0] ?? "",
    cost,
  ),
  overload<[string, string]>(
    "string::findAll(string) -> list(string)",
    ([text, pattern]) => new List(found(text, pattern, Infinity)),
    cost,
  ),
  overload<[string, string, bigint]>(
    "string::findAll(string, int) -> list(string)",
    ([text, pattern, limit]) => new List(found(text, pattern, limit < 0n ? Infinity : Number(limit))),
    cost,
  ),
]
