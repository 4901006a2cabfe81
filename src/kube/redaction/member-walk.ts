/** Walks over the members of one object in bytes, and removes some of them. */

import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import { decodeString } from "../scanner/object/canonical-json.ts"
import { deleted, type Edits } from "./text-edits.ts"

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

/** Positions of a member: the key with its quotes, and the value. */
type VisitMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void

type JudgeMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => boolean

/** Over the valid JSON that its cursor is loaded with. */
export class MemberWalk {
  readonly #json: JsonBytes

  constructor(json: JsonBytes) {
    this.#json = json
  }

  /** Calls `visit` for each member of the object at `position`, in order; returns the position after its brace. */
  each(position: number, visit: VisitMember): number {
    const json = this.#json
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) === QUOTE) {
      const keyEnd = json.skipString(at + 1)
      const value = json.skipColon(keyEnd)
      const end = json.skipValue(value)
      visit(at, keyEnd, value, end)
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** Whether the object at `position` has members, and all of them have that key, given with its quotes. */
  hasOnly(position: number, wanted: Buffer): boolean {
    const { bytes } = this.#json
    let count = 0
    let isOnly = true
    this.each(position, (key, keyEnd) => {
      count++
      if (!isKey(bytes, key, keyEnd, wanted)) isOnly = false
    })
    return isOnly && count > 0
  }

  /**
   * Removes every member with that key, given with its quotes, or, given a function, every one that it names, from the object at `position`, with a comma
   * each; returns the position after the object.
   */
  remove(position: number, unwanted: Buffer | JudgeMember, edits: Edits): number {
    const { bytes } = this.#json
    /** End of the last member that stays; -1: none. */
    let keptEnd = -1
    /** Start of the run of members to remove that ends at `last`; -1: none. */
    let from = -1
    let last = -1
    const json = this.#json
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) === QUOTE) {
      const keyEnd = json.skipString(at + 1)
      const value = json.skipColon(keyEnd)
      const end = json.skipValue(value)
      if (typeof unwanted === "function" ? unwanted(at, keyEnd, value, end) : isKey(bytes, at, keyEnd, unwanted)) {
        if (from < 0) from = at
        last = end
      } else {
        // Up to the next member, so with the comma after it.
        if (from >= 0) edits.add(from, at, deleted)
        from = -1
        keptEnd = end
      }
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    if (from >= 0) edits.add(keptEnd < 0 ? from : keptEnd, last, deleted)
    return at + 1
  }
}

/** Whether the JSON strings `bytes[start, end)` and `wanted`, which is as `JSON.stringify` writes it and so not longer than any other spelling, are the same text. */
export const isKey = (bytes: Buffer, start: number, end: number, wanted: Buffer): boolean => {
  const { length } = wanted
  if (end - start < length) return false
  if (end - start === length) {
    let at = 1
    while (at < length && bytes[start + at] === wanted[at]) at++
    if (at === length) return true
  }
  return hasEscape(bytes, start, end) && decodeString(bytes, start, end) === decodeString(wanted, 0, length)
}

const hasEscape = (bytes: Buffer, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}
