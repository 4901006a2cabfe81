/**
 * What an evaluation has cost, in the API server's units (selecting a field 1, making a list 10, reading ten characters 1), and a count of
 * the steps that it really took. Costs decide what the API server refuses too. Steps are the sandbox's own bound, because some
 * operations cost nothing or less than they take, such as `has()` or the comparison of deep objects.
 */

import { CostLimitError } from "./problems.ts"

/** Cost of one expression; the API server allows this for about 0.1 s. */
const expressionCostLimit = 1_000_000

/** Some 0.5 s. The costliest expressions that the cost limit lets pass take a fifth of it. */
const stepLimit = 5_000_000

/** Characters of one text: `replace` could otherwise make one of 9 TB from two of 3 MB. */
const longestText = 16 * 1024 * 1024

export class Meter {
  cost = 0
  #steps = 0

  /** Throws {@link CostLimitError}. */
  spend(cost: number): void {
    this.cost += cost
    if (this.cost > expressionCostLimit) throw new CostLimitError({})
  }

  /** Throws {@link CostLimitError}. */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps > stepLimit) throw new CostLimitError({})
  }

  /** Before a text of that length is made. Throws {@link CostLimitError}. */
  reserve(characters: number): void {
    if (characters > longestText) throw new CostLimitError({})
    this.step(Math.ceil(characters / 64))
  }
}

/** The cost of reading a text of a length. */
export const reading = (size: number, factor = 1): number => Math.ceil(size * factor * 0.1)

/** The cost of matching a pattern. */
export const matching = (text: number, pattern: number): number => reading(1 + text) * Math.ceil(pattern * 0.25)
