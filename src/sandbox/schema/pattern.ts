/**
 * The regular expressions of schemas, as the server's engine (RE2) reads and matches them: in time proportional to the text.
 * JavaScript's own engine has another syntax and practically never ends on `(a+)+$` with thirty characters.
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
 * Limit of a pattern's characters, and of the steps that it is compiled to. The server allows more; `a{1000}` alone is a
 * thousand steps of some 200 bytes each, so a megabyte of pattern would use up all memory.
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
/**
 * Patterns come from schemas, of which there are few; this bounds the memory that a client can use by changing its
 * schema over and over.
 */
const maximumKnown = 1000

/** Whether a pattern matches anywhere in a text. An unusable pattern matches everything: definitions with one are refused. */
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
