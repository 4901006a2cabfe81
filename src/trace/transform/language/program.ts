/**
 * A program of the transform language, as data: what the parser makes of its text, what threads are given, and what is run. Positions (`at`) are UTF-16 code
 * units in the text.
 */

import { microsOf } from "../../rfc3339.ts"

/** Where it is in the program's text. */
interface Placed {
  readonly at: number
}

/** A member's name, an index, or `null` for every element of an array. */
export type Step = string | number | null

/** Fields of an object, or of what a variable is bound to. */
export interface Path extends Placed {
  readonly type: "path"
  /** With its `$`. */
  readonly variable: string | null
  readonly steps: ReadonlyArray<Step>
}

/** What is assigned or compared with. Arrays and objects may contain paths. */
export type Value =
  | Path
  | (Placed & { readonly type: "literal"; readonly value: string | boolean | null })
  /** As written: 1 and 1.0 are different in an object. */
  | (Placed & { readonly type: "number"; readonly text: string })
  | (Placed & { readonly type: "array"; readonly items: ReadonlyArray<Value> })
  | ObjectValue

export interface ObjectValue extends Placed {
  readonly type: "object"
  readonly members: ReadonlyArray<readonly [key: string, value: Value]>
}

export type Comparison = "==" | "!=" | "<=" | ">=" | "<" | ">"

/**
 * A time. With the unit `h`, `m`, `s` or `ms` it counts from the beginning of the trace; without one it is in seconds since 1970; `date`: RFC 3339.
 */
export interface Moment extends Placed {
  readonly text: string
  readonly unit: "h" | "m" | "s" | "ms" | "" | "date"
}

/** Which objects a command is about. */
export type Condition =
  | { readonly type: "and" | "or"; readonly of: ReadonlyArray<Condition> }
  | { readonly type: "not"; readonly of: Condition }
  | (Placed & { readonly type: "time"; readonly operator: Comparison; readonly moment: Moment })
  /** Those matches of the path that satisfy the test by themselves; met if there are any. */
  | (Placed & { readonly type: "bind"; readonly variable: string; readonly path: Path; readonly test: Condition })
  | (Placed & { readonly type: "exists"; readonly path: Path })
  | (Placed & { readonly type: "matches"; readonly path: Path; readonly pattern: string })
  | (Placed & { readonly type: "in"; readonly path: Path; readonly value: Value })
  | (Placed & { readonly type: "compare"; readonly path: Path; readonly operator: Comparison; readonly value: Value })

/** One command. `condition` null: about every object. */
export type Statement = Placed &
  (
    | { readonly type: "modify"; readonly condition: Condition | null; readonly target: Path; readonly value: Value }
    | { readonly type: "remove"; readonly condition: Condition | null; readonly target: Path }
    | { readonly type: "delete"; readonly condition: Condition | null }
    | { readonly type: "insert"; readonly object: ObjectValue; readonly time: Moment }
  )

export type Program = ReadonlyArray<Statement>

/** µs since the Unix epoch. */
export type MomentOf = (moment: Moment) => number

const unitMicros = { h: 3_600_000_000, m: 60_000_000, s: 1_000_000, ms: 1000 } as const

/** A date has its offset: without one, it would be another moment for everyone who reads the program. */
const hasOffset = /(?:[Zz]|[+-]\d\d:\d\d)$/

/** The moment in a trace that begins at `start`; `undefined`: there is no such date, or no number of µs for it. */
const momentIn = ({ text, unit }: Moment, start: number): number | undefined => {
  if (unit === "date") return hasOffset.test(text) ? microsOf(text) : undefined
  const micros = Math.round(Number(text) * unitMicros[unit === "" ? "s" : unit])
  return Number.isSafeInteger(micros) ? (unit === "" ? micros : start + micros) : undefined
}

/** Whether it is a moment. */
export const isReadable = (moment: Moment): boolean => momentIn(moment, 0) !== undefined

/** Moments of a trace that begins at `start`, µs since the Unix epoch. @throws RangeError for one that is not readable */
export const momentsFrom =
  (start: number): MomentOf =>
  (moment) => {
    const micros = momentIn(moment, start)
    if (micros === undefined) throw new RangeError(`not a moment: ${moment.text}`)
    return micros
  }

/** `part`: a condition, a value, or a list of them, not nested without end. */
export function* pathsIn(part: unknown): Generator<Path> {
  if (typeof part !== "object" || part === null) return
  if ("type" in part && part.type === "path") yield part as Path
  else for (const inner of Object.values(part)) yield* pathsIn(inner)
}
