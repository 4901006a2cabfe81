/** How deeply a value is nested: code that walks one takes stack for each level, which ends at some 5,000. */

/** Whether objects and lists are inside one another by more than `levels`. Takes no more stack than that, whatever the value. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true
  return false
}
