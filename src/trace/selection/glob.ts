/**
 * Patterns of names: `*` stands for any characters, `?` for one, everything else for itself. Names of Kubernetes objects hold
 * neither, so an exact name is a pattern, too.
 *
 * Matching takes time in the product of both lengths at most, whatever the pattern: no regular expression is made of it.
 */

/** Compiles patterns into one question: does any of them match the whole name? */
export const compileGlobs = (patterns: ReadonlyArray<string>): ((name: string) => boolean) => {
  const exact = new Set(patterns.filter((pattern) => !isGlob(pattern)))
  // A run of stars says no more than one, and takes its time for each name.
  const globs = patterns.filter(isGlob).map((pattern) => pattern.replaceAll(/\*+/g, "*"))
  return (name) => exact.has(name) || globs.some((glob) => matches(glob, name))
}

const isGlob = (pattern: string): boolean => pattern.includes("*") || pattern.includes("?")

/** The last `*` may have to take one character more, earlier ones never: what stood between them has matched once for all. */
const matches = (pattern: string, name: string): boolean => {
  let at = 0
  let index = 0
  let star = -1
  let taken = 0
  while (index < name.length) {
    // A star first: a name may hold one, too.
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
