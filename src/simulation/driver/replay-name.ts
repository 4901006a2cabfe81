/** The name of a repetition's replay: the value of the label of everything that it creates. */
import { hash } from "node:crypto"

/** Characters of a label's value. */
const longest = 63
/** Hexadecimal characters that tell two long names apart. */
const suffix = 8

/** The pod's name, which no other repetition has; a name that is too long for a label, or has dots, ends with a hash of it. Pure. */
export const replayLabelOf = (pod: string): string => {
  if (pod.length <= longest && !pod.includes(".")) return pod
  const start = pod.replaceAll(".", "-").slice(0, longest - suffix - 1)
  return `${start.replace(/-+$/, "")}-${hash("sha256", pod, "hex").slice(0, suffix)}`
}
