/**
 * Read-only objects: the cache is shared by all controllers of the process, so an object that one of them changed would be wrong for all.
 *
 * An object is frozen when it is first handed out, not when it arrives: most versions of most objects are never read.
 */

/** Freezes a JSON value and everything in it; returns it. Writing to it then throws a TypeError. Free for one that is frozen. */
export const frozen = <T>(value: T): T => {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    // Whatever is frozen was frozen here, with its members.
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue
    Object.freeze(next)
    for (const member of Object.values(next)) open.push(member)
  }
  return value
}
