/**
 * One item of a list in the form in which watch events carry objects: with `kind` and `apiVersion`, which API servers leave out of the items
 * of built-in kinds. The reader of a list completes its items before it passes them on, so everything behind it sees one form.
 *
 * The members are those of the kind that was asked for: a list's own kind need not end in `List`. They are put in front, where API servers
 * write them. An item keeps what it has, whatever the value, and then none of its bytes are copied. An item is scanned before it is completed,
 * so its fingerprint is that of the bytes in the list.
 *
 * Costs 0.2 to 0.4 µs of the 5.0 µs that reading an item of 1.9 kB takes.
 */

import { apiVersionOf, type GroupVersionKind } from "../gvk.ts"
import { CarryBuffer, defaultLongest } from "./carry-buffer.ts"
import { JsonBytes } from "./json/json-bytes.ts"
import { readMembers } from "./object/canonical-json.ts"
import type { ObjectReport } from "./object/object-report.ts"
import { longestReadSlowly } from "./slow-path.ts"

/** The beginning of a completed item up to its own first member, and where the texts in it are; [0, 0) for one that is not in it. */
interface Opening {
  readonly bytes: Buffer
  readonly kindStart: number
  readonly kindEnd: number
  readonly apiVersionStart: number
  readonly apiVersionEnd: number
}

/** Reused for every item: the span is valid until the next call. */
export class ListItem {
  bytes: Buffer = Buffer.alloc(0)
  start = 0
  end = 0
  readonly #both: Opening
  readonly #kindOnly: Opening
  readonly #apiVersionOnly: Opening
  /** The scanner of the list bounds its items; what is put in front of one is shorter than this. */
  readonly #copy = new CarryBuffer(defaultLongest + 4096)
  readonly #json = new JsonBytes()

  constructor(gvk: GroupVersionKind) {
    this.#both = openingOf(gvk.kind, apiVersionOf(gvk))
    this.#kindOnly = openingOf(gvk.kind, undefined)
    this.#apiVersionOnly = openingOf(undefined, apiVersionOf(gvk))
  }

  /**
   * Completes the object in [start, end), which `scanned` has scanned and which begins with its brace. Its spans then refer to the completed
   * item.
   */
  complete(bytes: Buffer, start: number, end: number, scanned: ObjectReport): void {
    const opening = this.#openingFor(scanned.kindEnd !== 0, scanned.apiVersionEnd !== 0)
    if (opening === undefined) return this.#keep(bytes, start, end)
    // An object that can be scanned has metadata, so a member always follows.
    this.#prepend(opening, opening.bytes.length, bytes, start, end)
    scanned.move(opening.bytes.length - (start + 1))
    if (opening.kindEnd !== 0) {
      scanned.kindStart = opening.kindStart
      scanned.kindEnd = opening.kindEnd
    }
    if (opening.apiVersionEnd !== 0) {
      scanned.apiVersionStart = opening.apiVersionStart
      scanned.apiVersionEnd = opening.apiVersionEnd
    }
  }

  /** The same without a scan: for what the scanner does not understand, or where nothing is scanned. Bytes that are not JSON stay as they are. */
  completeUnscanned(bytes: Buffer, start: number, end: number): void {
    const json = this.#json
    if (end - start > longestReadSlowly) return this.#keep(bytes, start, end)
    if (!json.load(bytes, end) || json.skipValue(start) !== end) return this.#keep(bytes, start, end)
    const keys = new Set(readMembers(json, start).map(({ key }) => key))
    const opening = this.#openingFor(keys.has("kind"), keys.has("apiVersion"))
    if (opening === undefined) return this.#keep(bytes, start, end)
    const { length } = opening.bytes
    this.#prepend(opening, keys.size === 0 ? length - 1 : length, bytes, start, end)
  }

  #openingFor(hasKind: boolean, hasApiVersion: boolean): Opening | undefined {
    if (hasKind) return hasApiVersion ? undefined : this.#apiVersionOnly
    return hasApiVersion ? this.#kindOnly : this.#both
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes
    this.start = start
    this.end = end
  }

  #prepend(opening: Opening, length: number, bytes: Buffer, start: number, end: number): void {
    const copy = this.#copy
    copy.clear()
    copy.append(opening.bytes, 0, length)
    copy.append(bytes, start + 1, end)
    this.#keep(copy.bytes, 0, copy.length)
  }
}

/** In the order in which API servers write built-in kinds, which are the ones that come without. */
const openingOf = (kind: string | undefined, apiVersion: string | undefined): Opening => {
  let text = "{"
  const add = (key: string, value: string | undefined): { readonly start: number; readonly end: number } => {
    if (value === undefined) return { start: 0, end: 0 }
    text += `"${key}":"`
    const start = Buffer.byteLength(text)
    text += JSON.stringify(value).slice(1, -1)
    const end = Buffer.byteLength(text)
    text += '",'
    return { start, end }
  }
  const kindSpan = add("kind", kind)
  const apiVersionSpan = add("apiVersion", apiVersion)
  return {
    bytes: Buffer.from(text),
    kindStart: kindSpan.start,
    kindEnd: kindSpan.end,
    apiVersionStart: apiVersionSpan.start,
    apiVersionEnd: apiVersionSpan.end,
  }
}
