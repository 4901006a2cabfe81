/**
 * The ledger of a cluster: the observations of an observer that shares no code with the recorder, one JSON object per line.
 *
 * Per kind: one `list` line, a `listed` line for each object in that list, then a line for every watch event after it,
 * in the order of the stream.
 */

import { isObject, type Json, type JsonObject, parseExactly, textAt } from "./exact-json.ts"

/** Where a kind's watch begins. */
export interface ListLine {
  readonly line: "list"
  readonly gvk: string
  readonly resourceVersion: string
}

/** One object in one version. `listed`: part of the list; the others as the watch names them. */
export interface ObjectLine {
  readonly line: "listed" | "ADDED" | "MODIFIED" | "DELETED"
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  readonly object: JsonObject
}

export type LedgerLine = ListLine | ObjectLine

/** The line of an object, with the names that are read from it. */
export const objectLine = (line: ObjectLine["line"], gvk: string, object: Json | undefined): ObjectLine => {
  if (!isObject(object)) throw new Error(`${gvk}: ${line} without an object`)
  const uid = textAt(object, "metadata", "uid")
  const resourceVersion = textAt(object, "metadata", "resourceVersion")
  if (uid === "" || resourceVersion === "") throw new Error(`${gvk}: ${line} without uid or resourceVersion`)
  return { line, gvk, uid, resourceVersion, object }
}

/** Reads what an observer wrote. The reader trusts the shape of its lines: nothing else writes such files. */
export const parseLedger = (text: string): LedgerLine[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => parseExactly(line) as unknown as LedgerLine)
