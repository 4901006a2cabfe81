/**
 * The log of a running recorder: one line per fact, for people (`text`) or for programs (`json`, one object per line).
 *
 * Our own, not pino: pino costs 11.5 MB and 21 ms at start (measured on Node 26; the recorder's whole memory budget is 190 MB),
 * and its human-readable output is a second package with a worker thread. We log a few lines a minute or, at debug level, one
 * line per event.
 *
 * Guarantees: never throws, not even for values that JSON cannot represent; one line is one `sink` call; logged text can neither
 * forge a line nor control a terminal. The sink decides what happens under overload; the logger buffers nothing.
 */
import { visible } from "../../text/index.ts"

/** From most severe to most verbose. */
export const logLevels = ["error", "warn", "info", "debug"] as const
type LogLevel = (typeof logLevels)[number]
export type LogFormat = "text" | "json"

/** Structured facts beside the message: short names, self-explanatory values. An error is written as its message. */
export type LogFacts = Readonly<Record<string, unknown>>

export interface Logger {
  readonly error: (message: string, facts?: LogFacts) => void
  readonly warn: (message: string, facts?: LogFacts) => void
  readonly info: (message: string, facts?: LogFacts) => void
  readonly debug: (message: string, facts?: LogFacts) => void
  /** Whether lines of that level are written. Check it before gathering facts for every event. */
  readonly isEnabled: (level: LogLevel) => boolean
  /** A logger that adds these facts to every line. */
  readonly with: (facts: LogFacts) => Logger
}

export interface LoggerOptions {
  readonly format: LogFormat
  /** The most verbose level that is written. */
  readonly level: LogLevel
  /** Receives one line with its line break. */
  readonly sink: (line: string) => void
  /** Wall clock, ms since the Unix epoch. */
  readonly now: () => number
  /** Whether the `text` format is coloured. Default false. */
  readonly isColoured?: boolean
}

/** The level for a number of `-v` options: info for none, debug for one or more. */
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

/** `time`, `level` and `message` come first; facts cannot replace them. */
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

/** `name=value`; values that contain spaces, quotes or `=` are quoted. */
const factTexts = (facts: LogFacts): string[] =>
  Object.entries(facts).flatMap(([name, fact]) => {
    const value = plain(fact)
    if (value === undefined) return []
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
    const isWord = typeof value !== "string" || /^[^\s"=]+$/.test(text)
    return [visible(`${name}=${isWord ? text : JSON.stringify(text)}`)]
  })

/** A value that JSON can represent: an error becomes its message, a bigint decimal text, anything unserialisable its type. */
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
    return `[unserialisable ${typeof fact}]`
  }
}
