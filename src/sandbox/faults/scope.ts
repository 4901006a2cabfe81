/** The scope of a fault: the plural of a kind, `discovery` for all paths that are not a resource, or everything. */

/** The scope that covers all kinds and discovery. */
export const everything = "*"

export const covers = (scope: string, target: string): boolean => scope === everything || scope === target

export const anyCovers = (scopes: ReadonlySet<string>, target: string): boolean =>
  scopes.has(everything) || scopes.has(target)
