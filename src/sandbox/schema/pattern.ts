/**
 * The regular expressions of schemas, as the server's engine (RE2) reads and matches them: in time proportional to the text.
 * JavaScript's own engine has another syntax and practically never ends on `(a+)+$` with thirty characters.
 */

import { RE2JS, RE2JSException } from "re2js"

/**
 * Limit of a pattern's characters, and of the steps that it is compiled to. The server allows more; `a{1000}` alone is a
 * thousand steps of some 200 bytes each, so a megabyte of pattern would use up all memory.
 */
const longestPattern = 10_000
const maximumSteps = 100_000

/** The pattern, or why it cannot be used. */
export const compilePattern = (pattern: string): RE2JS | string => {
  if (pattern.length > longestPattern) return "the pattern is too long"
  try {
    const compiled = RE2JS.compile(pattern)
    return compiled.programSize() <= maximumSteps ? compiled : "the pattern is too large"
  } catch (cause) {
    if (cause instanceof RE2JSException) return cause.message
    throw cause
  }
}

const known = new Map<string, RE2JS | string>()
/**
 * Patterns come from schemas, of which there are few; this bounds the memory that a client can use by changing its
 * schema over and over.
 */
const maximumKnown = 1000

/** {@link compilePattern}, once for each text. */
export const knownPattern = (text: string): RE2JS | string => {
  const compiled = known.get(text) ?? compilePattern(text)
  if (known.size >= maximumKnown) known.clear()
  known.set(text, compiled)
  return compiled
}

/** Whether a pattern matches anywhere in a text. An unusable pattern matches everything: definitions with one are refused. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const compiled = knownPattern(pattern)
  return typeof compiled === "string" || compiled.test(text)
}
