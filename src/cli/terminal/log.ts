/**
 * What a running recorder says: one line per fact, for people (`text`) or for programs (`json`, one object per line).
 *
 * Own, not pino: pino costs 11.5 MB and 21 ms at start (measured on Node 26; the recorder's whole memory budget is 190 MB),
 * and its human-readable form is a second package with a worker thread. We log a few lines a minute, or, at debug, one
 * per event.
 *
 * Guarantees: never throws, also for values JSON cannot hold; one line is one `sink` call; nothing that was logged can
 * forge a line or command a terminal. The sink decides what happens under overload; the logger keeps nothing.
 */
import { visible } from "../../recorder/configuration/quoted.ts"

/** From worst to most talkative. */
export const logLevels = ["error", "warn", "info", "debug"] as const
export type LogLevel = (typeof logLevels)[number]
export type LogFormat = "text" | "json"

/** Facts beside the message: short names, values that mean something alone. Errors are written with their message. */
export type LogFacts = Readonly<Record<string, unknown>>

export interface Logger {
  readonly error: (message: string, facts?: LogFacts) => void
  readonly warn: (message: string, facts?: LogFacts) => void
  readonly info: (message: string, facts?: LogFacts) => void
  readonly debug: (message: string, facts?: LogFacts) => void
  /** Whether lines of that level are written: to be asked before facts are gathered for each event. */
  readonly isEnabled: (level: LogLevel) => boolean
  /** A logger that adds these facts to every line. */
  readonly with: (facts: LogFacts) => Logger
}

export interface LoggerOptions {
  readonly format: LogFormat
  /** The most talkative level that is written. */
  readonly level: LogLevel
  /** Takes one line with its line break. */
  readonly sink: (line: string) => void
  /** Wall clock, ms since the Unix epoch. */
  readonly now: () => number
  /** Whether `text` is coloured. Default false. */
  readonly isColoured?: boolean
}

/** Level for a number of `-v`: none is info, one or more debug. */
export const levelOf = (verbosity: number): LogLevel => (verbosity > 0 ? "debug" : "info")

export const createLogger = (options: LoggerOptions): Logger => loggerWith(options, {})

const loggerWith = (options: LoggerOptions, common: LogFacts): Logger => {
  const threshold = logLevels.indexOf(options.level)
  const render = options.format === "json" ? renderJson : options.isColoured === true ? renderColoured : renderText
  const at = (level: LogLevel): Logger["info"] =>
    logLevels.indexOf(level) > threshold
      ? () => undefined
      : (message, facts) => options.sink(`${render(options.now(), level, message, { ...common, ...facts })}\n`)
  return {
    error: at("error"),
    warn: at("warn"),
    info: at("info"),
    debug: at("debug"),
    isEnabled: (level) => logLevels.indexOf(level) <= threshold,
    with: (facts) => loggerWith(options, { ...common, ...facts }),
  }
}

type Render = (now: number, level: LogLevel, message: string, facts: LogFacts) => string

/** `time`, `level` and `message` come first and cannot be replaced by facts. */
const renderJson: Render = (now, level, message, facts) => {
  const line: Record<string, unknown> = { time: timestamp(now), level, message }
  for (const [name, fact] of Object.entries(facts)) line[Object.hasOwn(line, name) ? `${name}_` : name] = plain(fact)
  return JSON.stringify(line)
}

const renderText: Render = (now, level, message, facts) =>
  [timestamp(now), level.toUpperCase().padEnd(5), visible(message), ...factTexts(facts)].join(" ")

const colours: Readonly<Record<LogLevel, number>> = { error: 31, warn: 33, info: 32, debug: 36 }
const paint = (code: number, text: string): string => `\u001b[${code}m${text}\u001b[0m`
const dim = 2

const renderColoured: Render = (now, level, message, facts) =>
  [
    paint(dim, timestamp(now)),
    paint(colours[level], level.toUpperCase().padEnd(5)),
    visible(message),
    ...factTexts(facts).map((fact) => paint(dim, fact)),
  ].join(" ")

const timestamp = (now: number): string => {
  const date = new Date(now)
  return Number.isNaN(date.getTime()) ? String(now) : date.toISOString()
}

/** `name=value`; in quotes where a value would otherwise be several words. */
const factTexts = (facts: LogFacts): string[] =>
  Object.entries(facts).flatMap(([name, fact]) => {
    const value = plain(fact)
    if (value === undefined) return []
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
    const isWord = typeof value !== "string" || /^[^\s"=]+$/.test(text)
    return [visible(`${name}=${isWord ? text : JSON.stringify(text)}`)]
  })

/** A value as JSON can hold it: errors by their message, bigints as decimal text, what cannot be written by its type. */
const plain = (fact: unknown): unknown => {
  if (typeof fact === "string" || typeof fact === "boolean" || Number.isFinite(fact)) return fact
  if (typeof fact === "number" || typeof fact === "bigint") return String(fact)
  if (fact instanceof Error) return fact.message
  try {
    const json = JSON.stringify(fact, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value instanceof Error ? value.message : value,
    )
    return json === undefined ? undefined : JSON.parse(json)
  } catch {
    return `[${typeof fact} that cannot be written]`
  }
}
