/** The kinds of a server that can be watched, each object once: a resource that a group serves in several versions is taken in the preferred one. */
import type { DiscoveredKind } from "./discovered-kinds.ts"

/** Of discovered kinds, which come in the order of preference; the order stays. */
export const watchableKinds = (discovered: ReadonlyArray<DiscoveredKind>): ReadonlyArray<DiscoveredKind> => {
  const taken = new Set<string>()
  return discovered.filter(({ gvk, plural, verbs }) => {
    if (!verbs.includes("list") || !verbs.includes("watch")) return false
    const resource = `${gvk.group}/${plural}`
    const isFirst = !taken.has(resource)
    taken.add(resource)
    return isFirst
  })
}
