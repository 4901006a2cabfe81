/** What a fault applies to: the plural of a kind, `discovery` for all paths that are no resource, or everything. */

/** The scope that covers all kinds and discovery. */
export const everything = "*"

export const covers = (scope: string, target: string): boolean => scope === everything || scope === target

export const anyCovers = (scopes: ReadonlySet<string>, target: string): boolean =>
  scopes.has(everything) || scopes.has(target)
