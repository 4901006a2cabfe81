/** Cases in which our answer has the real server's status and causes but other words, and why. */

export const differences: ReadonlyMap<string, string> = new Map([])
