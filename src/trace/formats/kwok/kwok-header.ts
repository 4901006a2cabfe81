/** The comment in the first line of our kwok recordings: the facts that the documents cannot hold. kwok ignores it. */

import type { TraceHeader } from "../../trace-item.ts"

/** The start of the comment; one line of JSON follows. */
const HEADER_COMMENT = "# kubereel: "

/** The contents of the comment. */
interface KwokHeader {
  /** µs since the Unix epoch from which offsets count. */
  readonly start: number
  readonly header: Partial<TraceHeader>
}

/** The comment, including its line feed. */
export const formatHeader = (start: number, { window, cut, kinds, incomplete, clusterUid }: TraceHeader): string =>
  `${HEADER_COMMENT}${JSON.stringify({ start, ...(window !== undefined && { window }), cut, kinds, incomplete, clusterUid })}\n`

/** Reads a document's first line; `none`: it is not such a comment, `bad`: it is one, but cannot be read. */
export const readHeader = (document: string): KwokHeader | "none" | "bad" => {
  if (!document.startsWith(HEADER_COMMENT)) return "none"
  const [line = ""] = document.slice(HEADER_COMMENT.length).split("\n", 1)
  return readFacts(line) ?? "bad"
}

const readFacts = (line: string): KwokHeader | undefined => {
  let facts: unknown
  try {
    facts = JSON.parse(line)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  if (typeof facts !== "object" || facts === null) return undefined
  const { start, window, cut, kinds, incomplete, clusterUid } = facts as Record<string, unknown>
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(cut)) return undefined
  if (!isListOf(kinds, (kind) => typeof kind === "string")) return undefined
  if (!isListOf(incomplete, isIncompleteKind)) return undefined
  if (window !== undefined && !isWindow(window)) return undefined
  return {
    start: start as number,
    header: {
      ...(window !== undefined && { window: window as NonNullable<TraceHeader["window"]> }),
      cut: cut as number,
      kinds: kinds as ReadonlyArray<string>,
      incomplete: incomplete as TraceHeader["incomplete"],
      ...(typeof clusterUid === "string" && { clusterUid }),
    },
  }
}

const isListOf = (value: unknown, is: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(is)

const isIncompleteKind = (value: unknown): boolean => {
  const { gvk, namespace = "", state } = (value ?? {}) as Record<string, unknown>
  return typeof gvk === "string" && typeof namespace === "string" && typeof state === "string"
}

const isWindow = (value: unknown): boolean => {
  const { start, end } = (value ?? {}) as Record<string, unknown>
  return Number.isSafeInteger(start) && Number.isSafeInteger(end)
}
