/** Kinds that the server forbids, for people: one cause and one remedy, however many kinds it concerns. */
import { mergedHints } from "../../kube/index.ts"

/** Kinds that a message names at most. */
const mostNamed = 8

/** `v1.Pod, v1.Node and 3 more`. */
export const namedKinds = (gvks: ReadonlyArray<string>): string => {
  const more = gvks.length - mostNamed
  // Naming the last one takes no more room than counting it.
  return more <= 1 ? gvks.join(", ") : `${gvks.slice(0, mostNamed).join(", ")} and ${more} more`
}

/** What several kinds lack, from the reasons of each; the reason itself if there is one only. */
export const forbiddenReason = (details: ReadonlyArray<string>): string => {
  const [first = "", ...others] = details
  if (others.length === 0) return first
  return mergedHints(details) ?? `${first}; and likewise the others`
}

/** The line of a log about kinds that have just been found to be forbidden. */
export const describeForbidden = (kinds: ReadonlyMap<string, string>): string => {
  const gvks = [...kinds.keys()]
  const reason = forbiddenReason([...kinds.values()])
  return gvks.length === 1
    ? `${gvks[0]} forbidden: ${reason}`
    : `${gvks.length} kinds are forbidden (${namedKinds(gvks)}): ${reason}; \`reel k8s\` prints all rules that a recorder needs`
}
