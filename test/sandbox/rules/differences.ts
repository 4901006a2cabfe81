/** Cases in which our answer has the real server's status and causes but other words, and why. */

const structDiff = "the server appends a diff of its internal structs"

export const differences: ReadonlyMap<string, string> = new Map([
  ["pod's environment changed", structDiff],
  ["claim's mode changed", structDiff],
  ["template of a job changed", "the server prints the whole template as its internal struct"],
])
