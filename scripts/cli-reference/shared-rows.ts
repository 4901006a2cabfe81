/** What several commands have in common: the first one that has it explains it, and the others refer to that one. */
import type { CommandSyntax } from "../../src/cli/command-line/arguments.ts"

/** Options or variables that a command has in common with an earlier one. */
export interface SharedKeys {
  /** Name of the command that explains them. */
  readonly name: string
  readonly keys: ReadonlyArray<string>
}

/** So many become one row that refers to the other command; a single one is explained again. */
const fewest = 2

/** `earlier`: the commands above on the page. `hasSame`: whether one of them has the same under that key. */
export const sharedKeys = (
  keys: ReadonlyArray<string>,
  earlier: ReadonlyArray<CommandSyntax>,
  hasSame: (other: CommandSyntax, key: string) => boolean,
): ReadonlyArray<SharedKeys> => {
  const groups = new Map<string, string[]>()
  for (const key of keys) {
    const first = earlier.find((other) => hasSame(other, key))
    if (first !== undefined) groups.set(first.name, [...(groups.get(first.name) ?? []), key])
  }
  return [...groups].map(([name, keys]) => ({ name, keys })).filter(({ keys }) => keys.length >= fewest)
}
