/** What a pattern comes to once it has been read, and what is wrong with one that cannot be. */

import * as Schema from "effect/Schema"

export type PatternNode =
  /** One code point. `source` is a class of JavaScript in Unicode mode. */
  | { readonly type: "one"; readonly source: string; readonly ignoresCase: boolean }
  | { readonly type: "assertion"; readonly assertion: Assertion }
  | { readonly type: "sequence"; readonly nodes: ReadonlyArray<PatternNode> }
  | { readonly type: "choice"; readonly nodes: ReadonlyArray<PatternNode> }
  /** `most` is absent for any number. Greedy or not makes no difference to whether a text matches. */
  | { readonly type: "repeat"; readonly node: PatternNode; readonly least: number; readonly most?: number }

export type Assertion = "textStart" | "textEnd" | "lineStart" | "lineEnd" | "wordEdge" | "noWordEdge"

/** The message is Go's: `error parsing regexp: missing closing ): ...`. */
export class PatternError extends Schema.TaggedError<PatternError>()("PatternError", {
  problem: Schema.String,
  /** The part of the pattern that is wrong. */
  part: Schema.String,
}) {
  override get message(): string {
    return `error parsing regexp: ${this.problem}: \`${this.part}\``
  }
}

export const refusePart = (problem: string, part: string): never => {
  throw new PatternError({ problem, part })
}
