/**
 * Patterns of names: `*` matches any characters, `?` one character, everything else itself. Names of Kubernetes objects contain neither, so
 * an exact name is also a pattern.
 *
 * Matching takes time at most proportional to the product of both lengths, whatever the pattern: it uses no regular expression.
 */

/** Compiles patterns into one predicate: does any of them match the whole name? */
export const compileGlobs = (patterns: ReadonlyArray<string>): ((name: string) => boolean) => {
  const exact = new Set(patterns.filter((pattern) => !isGlob(pattern)))
  // Several stars in a row mean the same as one, but would cost time for each name.
  const globs = patterns.filter(isGlob).map((pattern) => pattern.replaceAll(/\*+/g, "*"))
  const matchesAny = (name: string): boolean => exact.has(name) || globs.some((glob) => matches(glob, name))
  return globs.length > 1 ? remembering(matchesAny) : matchesAny
}

/** Names that are remembered: all of most recordings, in some 2 MB. */
const rememberedNames = 20_000

/** An export asks about the same names with each event, and 500 patterns take 0.1 ms. */
const remembering = (predicate: (name: string) => boolean): ((name: string) => boolean) => {
  const known = new Map<string, boolean>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    if (known.size >= rememberedNames) known.clear()
    const result = predicate(name)
    known.set(name, result)
    return result
  }
}

const isGlob = (pattern: string): boolean => pattern.includes("*") || pattern.includes("?")

/** Only the last `*` may have to match one more character; the text before it has matched once and for all. */
const matches = (pattern: string, name: string): boolean => {
  let at = 0
  let index = 0
  let star = -1
  let taken = 0
  while (index < name.length) {
    // Checks for a star first, because a name may contain one too.
    if (pattern[at] === "*") {
      star = at++
      taken = index
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at++
      index++
    } else if (star !== -1) {
      at = star + 1
      index = ++taken
    } else return false
  }
  while (pattern[at] === "*") at++
  return at === pattern.length
}
