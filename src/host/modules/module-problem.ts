/**
 * Everything that keeps a module from being loaded, as data, and the sentence for each. One module's refusal concerns no other.
 *
 * A sentence contains no control characters of the file, and quotes at most 60 characters of it: a file given by mistake may hold secrets.
 */
import * as Schema from "effect/Schema"

/** Where in the file; both count from 1. */
const position = { line: Schema.Number, column: Schema.Number }

/** A mistake in a module's YAML. `where` names the setting: `env[1].name`. */
export const ModuleFileProblem = Schema.TaggedUnion({
  /** Not text, or not YAML. */
  Syntax: { ...position, detail: Schema.String },
  TooLarge: { ...position, limitBytes: Schema.Number },
  WrongType: { ...position, where: Schema.String, found: Schema.String, allowed: Schema.String },
  InvalidValue: { ...position, where: Schema.String, found: Schema.String, allowed: Schema.String },
  MissingKey: { ...position, key: Schema.String, advice: Schema.String },
  UnknownKey: { ...position, key: Schema.String, where: Schema.String, allowed: Schema.Array(Schema.String) },
  DuplicateKey: { ...position, key: Schema.String, firstLine: Schema.Number },
})
export type ModuleFileProblem = typeof ModuleFileProblem.Type

/** Why a module is not loaded. */
export const ModuleRefusal = Schema.TaggedUnion({
  /** The YAML is not valid. Correct every mistake listed. */
  Invalid: { problems: Schema.Array(ModuleFileProblem) },
  /** The operating system's name for why a file could not be read. */
  Unreadable: { code: Schema.String },
  /** There is a YAML, but no code beside it. */
  CodeMissing: { expected: Schema.Array(Schema.String) },
  /** There is code in several forms. */
  SeveralCodes: { found: Schema.Array(Schema.String) },
  /** A WebAssembly module without a YAML. */
  FileMissing: { expected: Schema.String },
  /** A name of a file that is not read, such as NAME.yml. */
  WrongExtension: { expected: Schema.String },
  /** Another file has the name. */
  DuplicateName: { name: Schema.String, other: Schema.String },
})
export type ModuleRefusal = typeof ModuleRefusal.Type

const listed = (texts: ReadonlyArray<string>): string => texts.join(", ")

const describeProblem = (problem: ModuleFileProblem): string => {
  switch (problem._tag) {
    case "Syntax":
      return problem.detail
    case "TooLarge":
      return `the file is larger than ${problem.limitBytes} bytes; is it the right file?`
    case "WrongType":
      return `${problem.where} is ${problem.found}; it must be ${problem.allowed}`
    case "InvalidValue":
      return `${problem.where} is ${quoted(problem.found)}; it must be ${problem.allowed}`
    case "MissingKey":
      return `the key ${problem.key} is missing; ${problem.advice}`
    case "UnknownKey":
      return `unknown key ${quoted(problem.key)} in ${problem.where}; allowed: ${listed(problem.allowed)}`
    case "DuplicateKey":
      return `${problem.key} appears twice, first in line ${problem.firstLine}; remove one of them`
  }
}

/** One line for each mistake: `path:line:column: sentence`, or `path: sentence`. */
export const describeRefusal = (path: string, refusal: ModuleRefusal): string => {
  switch (refusal._tag) {
    case "Invalid":
      return refusal.problems.map((one) => `${path}:${one.line}:${one.column}: ${describeProblem(one)}`).join("\n")
    case "Unreadable":
      return `${path}: it cannot be read (${refusal.code}); check that it exists and its permissions`
    case "CodeMissing":
      return `${path}: its code is missing; put one of ${listed(refusal.expected)} beside it`
    case "SeveralCodes":
      return `${path}: its code exists in several forms (${listed(refusal.found)}); leave one of them`
    case "FileMissing":
      return `${path}: the module has no configuration; put ${refusal.expected} beside it`
    case "WrongExtension":
      return `${path}: it is not read; rename it to ${refusal.expected}`
    case "DuplicateName":
      return `${path}: the name ${quoted(refusal.name)} is taken by ${refusal.other}; give the module another name`
  }
}

/** At most 60 characters in double quotes, without control and formatting characters. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "·")
