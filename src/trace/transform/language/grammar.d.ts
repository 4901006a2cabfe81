import type { Program } from "./program.ts"

/** What the grammar would have taken. */
export type Expectation =
  | { readonly type: "literal"; readonly text: string; readonly ignoreCase: boolean }
  | { readonly type: "class"; readonly parts: ReadonlyArray<string | readonly [string, string]> }
  | { readonly type: "end" }
  | { readonly type: "any" | "other" | "not"; readonly description: string }

/** The text does not follow the grammar. */
// biome-ignore lint/suspicious/noShadowRestrictedNames: peggy's name
export class SyntaxError extends Error {
  /** `null`: the grammar's own code says what is wrong. */
  readonly expected: ReadonlyArray<Expectation> | null
  /** `null`: the end of the text. */
  readonly found: string | null
  readonly location: { readonly start: { readonly offset: number; readonly line: number; readonly column: number } }
}

/** The program. Throws SyntaxError, and RangeError for what is nested too deeply. */
export const parse: (text: string) => Program
