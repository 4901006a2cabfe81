/** Programs from their text, and what is wrong with a text that is none. */

import * as Schema from "effect/Schema"
import { enumerated } from "../../../text/index.ts"
import { faultIn, tooDeep } from "./check-program.ts"
import { type Expectation, SyntaxError as GrammarError, parse } from "./grammar.js"
import type { Condition, Program } from "./program.ts"

/** Longest program: far more than anyone writes, and little enough to be parsed in some ms. UTF-16 code units. */
export const longestProgram = 1024 * 1024

/** A text that is no program. */
export class ProgramError extends Schema.TaggedError<ProgramError>()("ProgramError", {
  /** From 1; columns in characters as an editor counts them. */
  line: Schema.Int,
  column: Schema.Int,
  detail: Schema.String,
  /** The line, and below it a caret at the column. */
  excerpt: Schema.String,
}) {
  override get message(): string {
    return `line ${this.line}, column ${this.column}: ${this.detail}\n${this.excerpt}`
  }
}

/** @throws ProgramError */
export const parseProgram = (text: string): Program => {
  if (text.length > longestProgram)
    throw faultAt(text, longestProgram, `the program is longer than ${longestProgram} characters`)
  let program: Program
  try {
    program = parse(text)
  } catch (error) {
    if (error instanceof RangeError) throw faultAt(text, 0, tooDeep)
    if (!(error instanceof GrammarError)) throw error
    throw faultAt(text, error.location.start.offset, detailOf(error, text))
  }
  const fault = faultIn(program)
  if (fault !== undefined) throw faultAt(text, fault.at, fault.detail)
  return program
}

/** A condition alone, as `delete` takes it. @throws ProgramError */
export const parseCondition = (text: string): Condition => {
  // On lines of its own; a text that closes the command by itself makes two.
  const source = `delete(\n${text}\n);`
  let program: Program
  try {
    program = parseProgram(source)
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    const at = source.split("\n", error.line - 1).join("\n").length + error.column - "delete(\n".length
    throw faultAt(text, Math.min(at, text.length), at > text.length ? "the condition is incomplete" : error.detail)
  }
  const [statement] = program
  if (program.length === 1 && statement?.type === "delete" && statement.condition !== null) return statement.condition
  throw faultAt(text, 0, "expected one condition, such as spec.replicas <= 5")
}

/** The fault with its line and column. */
export const faultAt = (text: string, at: number, detail: string): ProgramError => {
  const before = text.slice(0, at)
  const start = before.lastIndexOf("\n") + 1
  const end = text.indexOf("\n", at)
  const line = text.slice(start, end === -1 ? text.length : end).replace(/\r$/, "")
  return new ProgramError({
    line: before.split("\n").length,
    column: at - start + 1,
    detail,
    excerpt: excerptOf(line, at - start),
  })
}

/** Characters of a line that are shown before and behind the fault. */
const shown = 60

/** Control characters would move the caret, or do worse to a terminal. */
const excerptOf = (line: string, column: number): string => {
  const from = Math.max(0, column - shown)
  const part = line.slice(from, column + shown).replaceAll(/\p{Cc}/gu, " ")
  return `  ${part}\n  ${" ".repeat(column - from)}^`
}

/** The grammar's own words are for people who read grammars. */
const detailOf = (error: GrammarError, text: string): string => {
  if (error.expected === null) return error.message
  const at = error.location.start.offset
  const found = error.found === null ? "the end of the program" : foundAt(text, at)
  if (error.found === '"' && !isClosed(text, at))
    return "a string without its closing quote, or with a backslash that escapes it"
  return `expected ${enumerated(wanted(error.expected), "or") || "something else"}, found ${found}`
}

const foundAt = (text: string, at: number): string => {
  const word = /^(?:[\w$-][\w$.-]*|\S)/.exec(text.slice(at, at + shown))?.[0]
  return word === undefined ? "a space" : JSON.stringify(word)
}

const isClosed = (text: string, at: number): boolean => /^"(?:[^"\\]|\\.)*"/s.test(text.slice(at))

/** Each once, and the many ways to write a value as one. */
const wanted = (expected: ReadonlyArray<Expectation>): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const expectation of expected) {
    const name = nameOf(expectation)
    if (name !== undefined) names.add(name)
  }
  if (names.has("a number"))
    for (const part of ["[", "{", "a string", "a variable", "a path"]) names.delete(quoted(part) ?? part)
  if (names.delete("a number")) names.add("a value")
  return [...names].sort()
}

const quoted = (part: string): string | undefined => (part.length === 1 ? JSON.stringify(part) : undefined)

const nameOf = (expectation: Expectation): string | undefined => {
  switch (expectation.type) {
    case "literal":
      return JSON.stringify(expectation.text)
    case "end":
      return "the end of the program"
    case "class":
      // Digits are wanted where an index or an amount of time is, letters where true, false and null may be.
      return expectation.parts.some((part) => Array.isArray(part) && part[0] === "0") ? "a digit" : undefined
    default:
      return expectation.description
  }
}
