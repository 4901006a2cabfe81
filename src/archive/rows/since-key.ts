/** The key of `metadata` that says since when a kind is recorded; its value is µs since the Unix epoch. */
export const recordedSinceKey = (gvk: string): string => `recordedSince ${gvk}`
