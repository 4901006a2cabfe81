/** Skips a test and prints why: Vitest's own report says that a test was skipped, but not the reason. */
export const skipBecause = (skip: (note: string) => never, reason: string): never => {
  console.warn(`skipped: ${reason}`)
  return skip(reason)
}
