/**
 * Everything that can be wrong with a configuration file, as data: what, where, what was found, what is allowed. One closed union for
 * mistakes (nothing is recorded), one for warnings (recording starts), and the sentence for each.
 *
 * Guarantee: a sentence contains no control or formatting characters of the file, so a hostile or wrongly chosen file cannot write to the
 * operator's terminal, and quotes at most 60 characters of it, so that a kubeconfig given by mistake does not end up in a log.
 */
import * as Schema from "effect/Schema"
import { quoted } from "../../text/index.ts"

/** Where in the file: both count from 1; columns are UTF-16 units, as editors count them. */
const position = { line: Schema.Number, column: Schema.Number }

/** A mistake. `where` names the setting in words (`ignore[1] of apps/v1.Deployment`). */
export const ConfigurationProblem = Schema.TaggedUnion({
  /** Not text: bytes that are neither UTF-8 nor UTF-16, or control characters. */
  NotText: { ...position, detail: Schema.String },
  /** More bytes than a configuration may have. */
  TooLarge: { ...position, limitBytes: Schema.Number },
  /** More values than a configuration may have, counting each repetition by an alias. */
  TooManyValues: { ...position, limit: Schema.Number },
  /** The YAML parser rejected it. */
  Syntax: { ...position, detail: Schema.String },
  /** A value of the wrong type for the setting. */
  WrongType: { ...position, where: Schema.String, found: Schema.String, allowed: Schema.String },
  /** The right type, but not a value the setting can have. */
  InvalidValue: {
    ...position,
    where: Schema.String,
    found: Schema.String,
    reason: Schema.String,
    suggestion: Schema.optionalKey(Schema.String),
  },
  /** `trackedObjects` is missing. */
  MissingKey: { ...position, key: Schema.String, advice: Schema.String },
  UnknownKey: {
    ...position,
    key: Schema.String,
    where: Schema.String,
    allowed: Schema.Array(Schema.String),
    suggestion: Schema.optionalKey(Schema.String),
  },
  DuplicateKey: { ...position, key: Schema.String, where: Schema.String, firstLine: Schema.Number },
  /** A key of `trackedObjects` that is not a kind. */
  InvalidKind: {
    ...position,
    found: Schema.String,
    reason: Schema.String,
    suggestion: Schema.optionalKey(Schema.String),
  },
  /** Template paths with which SimKube would reject the trace. */
  FixedPaths: {
    ...position,
    gvk: Schema.String,
    found: Schema.Array(Schema.String),
    allowed: Schema.Array(Schema.String),
  },
})
export type ConfigurationProblem = typeof ConfigurationProblem.Type

/** Something that is accepted, as in SimKube, but probably not intended. */
export const ConfigurationWarning = Schema.TaggedUnion({
  IgnoredKey: { ...position, key: Schema.String, advice: Schema.String },
  RepeatedKind: { ...position, gvk: Schema.String, firstLine: Schema.Number },
  DeprecatedPath: { ...position, gvk: Schema.String },
  IgnoredDeprecatedPath: { ...position, gvk: Schema.String },
  UnusualPath: { ...position, gvk: Schema.String, path: Schema.String, reason: Schema.String },
  UnfamiliarKind: { ...position, gvk: Schema.String, suggestion: Schema.String },
  LiteralStar: { ...position, where: Schema.String, pointer: Schema.String },
  NothingTracked: { ...position },
})
export type ConfigurationWarning = typeof ConfigurationWarning.Type

const listed = (texts: readonly string[]): string => (texts.length === 0 ? "[]" : texts.map(quoted).join(", "))
const question = (suggestion: string | undefined): string =>
  suggestion === undefined ? "" : `; did you mean ${quoted(suggestion)}?`

/** `<<` is YAML 1.1's merge key, which neither SimKube nor YAML 1.2 supports. */
const keyAdvice = (problem: { readonly key: string; readonly suggestion?: string }): string =>
  problem.key === "<<"
    ? ": merge keys are not supported; repeat the settings, or use one mapping for several kinds (&name, *name);"
    : question(problem.suggestion) || ";"

/** Describes a mistake in one or a few sentences, without its position. */
const describeProblem = (problem: ConfigurationProblem): string => {
  switch (problem._tag) {
    case "NotText":
      return `this is not a text file: ${problem.detail}`
    case "TooLarge":
      return `the file is larger than ${problem.limitBytes} bytes; a configuration needs a few thousand. Is it the right file?`
    case "TooManyValues":
      return `the file contains more than ${problem.limit} values after expanding aliases; use fewer aliases`
    case "Syntax":
      return `not valid YAML: ${problem.detail}`
    case "WrongType":
      return `${problem.where} is ${problem.found}; it must be ${problem.allowed}`
    case "InvalidValue":
      return `${problem.where} is ${quoted(problem.found)}: ${problem.reason}${question(problem.suggestion)}`
    case "MissingKey":
      return `the key ${quoted(problem.key)} is missing; ${problem.advice}`
    case "UnknownKey":
      return `unknown key ${quoted(problem.key)} in ${problem.where}${keyAdvice(problem)} allowed: ${problem.allowed.join(", ")}`
    case "DuplicateKey":
      return `the key ${quoted(problem.key)} appears twice in ${problem.where}, first in line ${problem.firstLine}; remove one of them`
    case "InvalidKind":
      return `${quoted(problem.found)} is not a kind: ${problem.reason}${question(problem.suggestion)}`
    case "FixedPaths":
      return `podSpecTemplatePaths of ${problem.gvk} is ${listed(problem.found)}; SimKube fixes it at ${listed(problem.allowed)} and rejects traces with other paths. Omit the key`
  }
}

/** Describes a warning in one sentence, without its position. */
const describeWarning = (warning: ConfigurationWarning): string => {
  switch (warning._tag) {
    case "IgnoredKey":
      return `the key ${quoted(warning.key)} has no effect here; ${warning.advice}`
    case "RepeatedKind":
      return `${warning.gvk} appears twice, first in line ${warning.firstLine}; the last one wins, as in SimKube`
    case "DeprecatedPath":
      return `podSpecTemplatePath of ${warning.gvk} is deprecated; write podSpecTemplatePaths with a list`
    case "IgnoredDeprecatedPath":
      return `podSpecTemplatePath of ${warning.gvk} is ignored because podSpecTemplatePaths is given; remove it`
    case "UnusualPath":
      return `podSpecTemplatePaths of ${warning.gvk} names ${quoted(warning.path)}, which ${warning.reason}; no pod template will be found there`
    case "UnfamiliarKind":
      return `${warning.gvk} is not a built-in kind that kubereel knows; did you mean ${quoted(warning.suggestion)}? It will be recorded once the cluster has it`
    case "LiteralStar":
      return `${warning.where} is ${quoted(warning.pointer)}; * is not a wildcard here, but the name of a member`
    case "NothingTracked":
      return `trackedObjects is empty: nothing will be recorded`
  }
}

/** `file:line:column: sentence`, the form that editors and terminals make clickable. */
const located = (file: string, entry: { readonly line: number; readonly column: number }, sentence: string): string =>
  `${file}:${entry.line}:${entry.column}: ${sentence}`

export const formatProblem = (file: string, problem: ConfigurationProblem): string =>
  located(file, problem, describeProblem(problem))

export const formatWarning = (file: string, warning: ConfigurationWarning): string =>
  located(file, warning, describeWarning(warning))

/** The file was read but is invalid. Correct every mistake listed; exit code 2. */
export class ConfigurationInvalidError extends Schema.TaggedError<ConfigurationInvalidError>()(
  "ConfigurationInvalidError",
  {
    file: Schema.String,
    /** In the order of the file; at least one, at most 100. */
    problems: Schema.Array(ConfigurationProblem),
  },
) {
  override get message(): string {
    return this.problems.map((problem) => formatProblem(this.file, problem)).join("\n")
  }
}

/** The file could not be read at all. Exit code 2. */
export class ConfigurationUnreadableError extends Schema.TaggedError<ConfigurationUnreadableError>()(
  "ConfigurationUnreadableError",
  {
    file: Schema.String,
    /** The operating system's name for it: `ENOENT`, `EACCES`, `EISDIR`, … */
    code: Schema.String,
  },
) {
  override get message(): string {
    return `cannot read the configuration ${this.file}: ${adviceFor(this.code)}`
  }
}

const adviceFor = (code: string): string => {
  switch (code) {
    case "ENOENT":
      return "file not found. Pass its path with --config"
    case "EACCES":
    case "EPERM":
      return "permission denied. Change its permissions, or run as its owner"
    case "EISDIR":
      return "it is a directory. Name the file inside it"
    default:
      return `reading failed (${code})`
  }
}

export type ConfigurationError = ConfigurationInvalidError | ConfigurationUnreadableError
