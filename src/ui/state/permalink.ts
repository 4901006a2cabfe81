/** What is looked at as the fragment of an address, which browsers send to no server, and back. Times are written as RFC 3339 with µs. */

import type { LaneObject } from "../../timeline/index.ts"
import type { LaneFilter, Span } from "../source/source.ts"
import { timeIn, timeText } from "../text/instants.ts"
import type { PageState, Pane } from "./state.ts"

/** What a link says. */
interface Linked {
  readonly cluster?: string
  readonly window?: Span
  readonly filter: LaneFilter
  readonly selection?: LaneObject
  readonly cursor?: number
  readonly other?: number
  readonly pane: Pane
}

const panes: ReadonlySet<string> = new Set([
  "none",
  "object",
  "findings",
  "differences",
  "pins",
] satisfies ReadonlyArray<Pane>)

const isPane = (text: string): text is Pane => panes.has(text)

export const linkOf = ({ cluster, window, isFollowing, filter, selection, cursor, other, pane }: PageState): string => {
  const link = new URLSearchParams()
  if (cluster !== undefined) link.set("cluster", cluster)
  if (!isFollowing && window.to > 1) {
    link.set("from", timeText(window.from))
    link.set("to", timeText(window.to))
  }
  for (const kind of filter.kinds ?? []) link.append("kind", kind)
  if (filter.namespace !== undefined) link.set("namespace", filter.namespace)
  if (filter.find !== undefined) link.set("find", filter.find)
  if (selection !== undefined) {
    const { gvk, namespace, name, uid } = selection.object
    // Of a kind the last "/" is known by what follows it; a name of a trace may have any characters, halves of pairs among them.
    link.set(
      "object",
      [gvk, ...[namespace, name, uid].map((each) => encodeURIComponent(each.toWellFormed()))].join("/"),
    )
  }
  if (cursor !== undefined) link.set("at", timeText(cursor))
  if (other !== undefined) link.set("with", timeText(other))
  if (pane !== "none") link.set("show", pane)
  return link.toString()
}

const objectIn = (text: string | null): LaneObject | undefined => {
  const parts = (text ?? "").split("/")
  const [namespace, name, uid] = parts.splice(-3).map(decoded)
  const gvk = parts.join("/")
  if (!gvk || namespace === undefined || !name || uid === undefined) return undefined
  return { gvk, namespace, name, uid }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Total: what a link says wrongly, it does not say. */
export const linkedState = (link: string): Linked => {
  const given = new URLSearchParams(link.replace(/^#/, ""))
  const [from, to, cursor, other] = ["from", "to", "at", "with"].map((name) => timeIn(given.get(name)))
  const selection = objectIn(given.get("object"))
  const show = given.get("show") ?? "none"
  const [kinds, namespace, find] = [given.getAll("kind"), given.get("namespace"), given.get("find")]
  const cluster = given.get("cluster") ?? ""
  return {
    ...(cluster !== "" && { cluster }),
    ...(from !== undefined && to !== undefined && from < to && { window: { from, to } }),
    filter: {
      ...(kinds.length > 0 && { kinds }),
      ...(namespace !== null && { namespace }),
      ...(find !== null && { find }),
    },
    ...(selection && { selection }),
    ...(cursor !== undefined && { cursor }),
    ...(other !== undefined && { other }),
    pane: isPane(show) ? show : "none",
  }
}
