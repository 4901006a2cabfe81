/** Counts as Go encodes them with `omitempty`: a zero is not written. */
export const withoutZeros = <T extends Readonly<Record<string, number>>>(counts: T): Partial<T> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<T>
