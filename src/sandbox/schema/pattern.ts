/**
 * The regular expressions of schemas, as the server's engine (RE2) reads and matches them: in time proportional to the text.
 * JavaScript's own engine takes another syntax and, for `(a+)+$` and thirty characters, longer than anyone waits.
 */

import * as Schema from "effect/Schema"
import { RE2JS, RE2JSException } from "re2js"

/** A pattern that cannot be used, and why. */
export class PatternError extends Schema.TaggedError<PatternError>()("PatternError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/**
 * Characters of a pattern, and steps of what it is compiled to. The server takes more; `a{1000}` alone is a thousand steps of
 * some 200 bytes each, so that a megabyte of pattern would take all memory.
 */
const longestPattern = 10_000
const maximumSteps = 100_000

/** Throws {@link PatternError}. */
export const compilePattern = (pattern: string): RE2JS => {
  if (pattern.length > longestPattern) throw new PatternError({ problem: "the pattern is too long" })
  try {
    const compiled = RE2JS.compile(pattern)
    if (compiled.programSize() <= maximumSteps) return compiled
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause
    throw new PatternError({ problem: cause.message })
  }
  throw new PatternError({ problem: "the pattern is too large" })
}

/** Compiled patterns by text; `undefined` for those that cannot be used. */
const known = new Map<string, RE2JS | undefined>()
/** Patterns come from schemas, of which there are few; this bounds what a client that keeps changing its schema can cost. */
const maximumKnown = 1000

/** Whether a pattern matches anywhere in a text. One that cannot be used matches everything: definitions with one are refused. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  if (!known.has(pattern)) {
    if (known.size >= maximumKnown) known.clear()
    known.set(pattern, compiledOrNothing(pattern))
  }
  return known.get(pattern)?.test(text) ?? true
}

const compiledOrNothing = (pattern: string): RE2JS | undefined => {
  try {
    return compilePattern(pattern)
  } catch (cause) {
    if (cause instanceof PatternError) return undefined
    throw cause
  }
}
