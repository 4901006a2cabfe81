/**
 * Command lines: a command declares its options in a table and gets typed values, or one usage error that names the option,
 * the value given and the values allowed.
 *
 * Conventions are those of GNU programs: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-vv`; `--` ends the options;
 * if a single-valued option is repeated, the last one wins; `--help` takes precedence over any mistake. Option names cannot be
 * abbreviated, so that a new option cannot change the meaning of an old script.
 */
import { parseArgs } from "node:util"
import * as Schema from "effect/Schema"
import { enumerated, nearest, quoted } from "../../text/index.ts"
import type { exitCodeMeanings } from "./exit-codes.ts"

/** The command line is invalid: exit code 2, nothing was done. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  /** `reel export`. */
  command: Schema.String,
  /** What is invalid and what is allowed, in one line. */
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.command}: ${this.problem}\nTry "${this.command} --help".`
  }
}

/** The result of reading one text: a value, or the reason why the text is not one (continues "…: "). */
export type Reading<T> =
  | { readonly _tag: "Value"; readonly value: T }
  | { readonly _tag: "Refused"; readonly reason: string }

/** Reads one text. `choices`: the only texts that it accepts. */
type Parse<T> = ((text: string) => Reading<T>) & { readonly choices?: readonly string[] }

export const value = <T>(value: T): Reading<T> => ({ _tag: "Value", value })
export const refused = (reason: string): Reading<never> => ({ _tag: "Refused", reason })

/** One option. Made by {@link flag}, {@link count}, {@link optional}, {@link required}, {@link withDefault}, {@link list}. */
export interface Option<T> {
  /** One letter. */
  readonly short: string | undefined
  /** Name of the value in help; `undefined` for an option without one. */
  readonly placeholder: string | undefined
  /** All values that it takes, if they are few words; for completions. */
  readonly choices: readonly string[] | undefined
  /** One sentence without a full stop. */
  readonly help: string
  /** The values given, in order; an option without a value contributes an empty string each time it is given. */
  readonly read: (given: readonly string[]) => Reading<T>
}

interface Described {
  readonly short?: string
  readonly help: string
}

/** An option without a value. */
const bare = <T>({ short, help }: Described, read: Option<T>["read"]): Option<T> => ({
  ...{ short, placeholder: undefined, choices: undefined, help, read },
})

/** `name`: as help shows it, `FILE` or `-o FILE`. */
const valued = <T>(
  name: string,
  help: string,
  { choices }: { readonly choices?: readonly string[] },
  read: Option<T>["read"],
): Option<T> => {
  const [short, placeholder] = /^-\w /.test(name) ? [name.slice(1, 2), name.slice(3)] : [undefined, name]
  return { short, placeholder, choices, help, read }
}

/** Any non-empty text. An empty text is nearly always a shell variable that was not set. */
export const text = (given: string): Reading<string> => (given === "" ? refused("it is empty") : value(given))

/** Present or not. */
export const flag = (described: Described): Option<boolean> => bare(described, (given) => value(given.length > 0))

/** The number of times it was given: `-vv` is 2. */
export const count = (described: Described): Option<number> => bare(described, (given) => value(given.length))

/** A value, or `undefined` if the option is not given. Of this and the others, `name` is that of the value, `FILE`, after a short option if there is one: `-o FILE`. */
export function optional(name: string, help: string): Option<string | undefined>
export function optional<T>(name: string, help: string, parse: Parse<T>): Option<T | undefined>
export function optional(name: string, help: string, parse: Parse<unknown> = text): Option<unknown> {
  return valued(name, help, parse, (given) => {
    const last = given.at(-1)
    return last === undefined ? value(undefined) : parse(last)
  })
}

/** A value that is required. */
export function required(name: string, help: string): Option<string>
export function required<T>(name: string, help: string, parse: Parse<T>): Option<T>
export function required(name: string, help: string, parse: Parse<unknown> = text): Option<unknown> {
  return valued(name, `${help} (required)`, parse, (given) => {
    const last = given.at(-1)
    return last === undefined ? refused("is required") : parse(last)
  })
}

/** A value with a default; the default is written as on the command line and shown in help. */
export function withDefault(text: string, name: string, help: string): Option<string>
export function withDefault<T>(text: string, name: string, help: string, parse: Parse<T>): Option<T>
export function withDefault(usual: string, name: string, help: string, parse: Parse<unknown> = text): Option<unknown> {
  return valued(name, `${help} (default ${usual})`, parse, (given) => parse(given.at(-1) ?? usual))
}

const several = <T>(name: string, help: string, parse: Parse<T>, separator: string | undefined): Option<readonly T[]> =>
  valued(name, `${help} (may be repeated)`, parse, (given) => {
    const values: T[] = []
    for (const text of separator === undefined ? given : given.flatMap((text) => text.split(separator))) {
      const reading = parse(text.trim())
      if (reading._tag === "Refused") return reading
      values.push(reading.value)
    }
    return value(values)
  })

/** Any number of values: the option may be repeated, and one text may hold several separated by commas. */
export function list(name: string, help: string): Option<readonly string[]>
export function list<T>(name: string, help: string, parse: Parse<T>): Option<readonly T[]>
export function list(name: string, help: string, parse: Parse<unknown> = text): Option<unknown> {
  return several(name, help, parse, ",")
}

/** The same without commas: each text is one value. */
export function repeated(name: string, help: string): Option<readonly string[]>
export function repeated<T>(name: string, help: string, parse: Parse<T>): Option<readonly T[]>
export function repeated(name: string, help: string, parse: Parse<unknown> = text): Option<unknown> {
  return several(name, help, parse, undefined)
}

/** One of these words. */
export const oneOf = <const T extends string>(...choices: readonly T[]): Parse<T> => {
  const parse = (given: string): Reading<T> => {
    const choice = choices.find((choice) => choice === given)
    if (choice !== undefined) return value(choice)
    const meant = nearest(given, choices)
    return refused(`must be ${enumerated(choices, "or")}${meant === undefined ? "" : `; did you mean ${meant}?`}`)
  }
  return Object.assign(parse, { choices })
}

/** A decimal integer within inclusive bounds. */
export const integerBetween =
  (minimum: number, maximum: number) =>
  (given: string): Reading<number> => {
    const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    return number >= minimum && number <= maximum
      ? value(number)
      : refused(`must be a number from ${minimum} to ${maximum}`)
  }

/** Options by the names of their values in code; `dataDir` is `--data-dir`. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer T> ? T : never
}

/** Everything that parsing and help need to know about a command. */
export interface CommandSyntax<Table extends OptionTable = OptionTable> {
  /** As the user types it: `reel export`. */
  readonly name: string
  /** One sentence, with a full stop. */
  readonly summary: string
  /** Paragraphs after the summary in help. */
  readonly description?: readonly string[]
  readonly options: Table
  /**
   * What may follow the options; absent: nothing. `count` is the number of operands required; default: none or one. `isRepeated`: more may
   * follow. `choices`: words that one of them may be, for completions. `candidates`: some of the texts that the first may be, for those too.
   */
  readonly operand?: {
    readonly placeholder: string
    readonly help: string
    readonly count?: number
    readonly isRepeated?: boolean
    readonly choices?: readonly string[]
    readonly candidates?: readonly string[]
  }
  /** What an exit code means if this command has more to say of it than {@link exitCodeMeanings}. Without full stops, like all that follows. */
  readonly exitCodes?: Partial<Readonly<Record<keyof typeof exitCodeMeanings, string>>>
  /** Variables that it reads, with what they are for. */
  readonly environment?: readonly DescribedName[]
  /** Files that it reads or writes without being told their names, with what they are for. */
  readonly files?: readonly DescribedName[]
  readonly examples?: readonly string[]
  /** Other commands, and pages below docs/. */
  readonly seeAlso?: readonly string[]
}

/** The name of a variable or a file, and one sentence without a full stop. */
export type DescribedName = readonly [name: string, meaning: string]

type ParsedArguments<Table extends OptionTable> =
  | { readonly _tag: "Options"; readonly options: OptionValues<Table>; readonly operands: readonly string[] }
  | { readonly _tag: "Help" }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Wrong"; readonly error: UsageError }

/** The option's name on the command line. */
export const optionName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Every command has these two; `-h` and nothing else is short for help. */
const common = { help: "help", version: "version" } as const

/** Reads the arguments after the command's name. Never throws. */
export const parseArguments = <Table extends OptionTable>(
  syntax: CommandSyntax<Table>,
  argv: readonly string[],
): ParsedArguments<Table> => {
  const wrong = (problem: string): ParsedArguments<Table> => ({
    _tag: "Wrong",
    error: new UsageError({ command: syntax.name, problem }),
  })
  const byName = new Map(Object.entries(syntax.options).map(([key, option]) => [optionName(key), { key, option }]))
  const given = new Map<string, string[]>()
  const operands: string[] = []
  let firstMistake: string | undefined
  for (const token of tokensOf(argv, byName)) {
    if (token.kind === "positional") operands.push(token.value)
    if (token.kind !== "option") continue
    // Also where an option's value was forgotten, as in "--host --help".
    if (token.name === common.help || (token.value === `--${common.help}` && token.inlineValue !== true))
      return { _tag: "Help" }
    if (token.name === common.version) return { _tag: "Version" }
    const known = byName.get(token.name)
    const mistake = known === undefined ? unknownOption(token.rawName, byName) : mistakeIn(token, known.option)
    firstMistake ??= mistake
    if (known !== undefined) given.set(known.key, [...(given.get(known.key) ?? []), token.value ?? ""])
  }
  if (firstMistake !== undefined) return wrong(firstMistake)
  const { count = 1, isRepeated = false } = syntax.operand ?? { count: 0 }
  const [unexpected] = isRepeated ? [] : operands.slice(count)
  if (unexpected !== undefined) return wrong(`unexpected argument ${quoted(unexpected)}`)
  if (operands.length < (syntax.operand?.count ?? 0))
    return wrong(`missing argument: expected ${syntax.operand?.placeholder}`)
  const options: Record<string, unknown> = {}
  for (const [name, { key, option }] of byName) {
    const texts = given.get(key) ?? []
    const reading = option.read(texts)
    if (reading._tag === "Refused") return wrong(refusal(name, option, texts, reading.reason))
    options[key] = reading.value
  }
  // The loop above set every key of the table to the value that its own option read.
  return { _tag: "Options", options: options as OptionValues<Table>, operands }
}

type Known = ReadonlyMap<string, { readonly key: string; readonly option: Option<unknown> }>

interface OptionToken {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

const tokensOf = (argv: readonly string[], byName: Known) => {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {
    [common.help]: { type: "boolean", short: "h" },
    [common.version]: { type: "boolean" },
  }
  for (const [name, { option }] of byName)
    options[name] = {
      type: option.placeholder === undefined ? "boolean" : "string",
      ...(option.short === undefined ? {} : { short: option.short }),
    }
  // Not strict: Node's own errors are several lines long and never suggest the option that was probably meant.
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true }).tokens
}

const unknownOption = (rawName: string, byName: Known): string => {
  const meant = rawName.startsWith("--")
    ? nearest(rawName.slice(2), [...byName.keys(), ...Object.keys(common)])
    : undefined
  return `unknown option ${visibleName(rawName)}${meant === undefined ? "" : `; did you mean --${meant}?`}`
}

const visibleName = (rawName: string): string => quoted(rawName).slice(1, -1)

const mistakeIn = (token: OptionToken, option: Option<unknown>): string | undefined => {
  if (option.placeholder === undefined) return token.value === undefined ? undefined : `${token.rawName} takes no value`
  if (token.value === undefined) return `${token.rawName} needs a value (${option.placeholder})`
  // In "--config --listen 80" the value was forgotten; in "--start -10m" and "--output -" it starts with a dash.
  if (token.inlineValue !== true && /^-[^\d.]/.test(token.value))
    return `${token.rawName} needs a value (${option.placeholder}); to pass ${quoted(token.value)} as the value, write ${token.rawName}=…`
  return undefined
}

const refusal = (name: string, option: Option<unknown>, texts: readonly string[], reason: string): string => {
  const given = texts.at(-1)
  if (given === undefined) return `--${name} ${option.placeholder ?? ""} ${reason}`
  return `--${name} ${quoted(given)}: ${reason}`
}

// Sizes in bytes, as options take them.

const powers = "KMGT"

/** Size in bytes from `500Mi`, `10Gi`, `2G` or `1000`: Kubernetes' units, binary with an i. */
export const parseSize = (given: string): Reading<number> => {
  const [, amount, unit = "", binary] = /^([1-9]\d{0,8})(?:([KMGT])(i?))?$/.exec(given) ?? []
  if (amount === undefined) return refused("must be a size such as 500Mi or 10Gi")
  const power = unit === "" ? 0 : powers.indexOf(unit) + 1
  return value(Number(amount) * (binary === "i" ? 1024 : 1000) ** power)
}
