/**
 * Scans one line of a watch. True: it is one valid JSON object with one known `type` and one `object`, in either
 * order. False means "use the slow path". The object of an ERROR is a Status, which the caller parses.
 */

import { isWhiteSpace } from "./json/json-bytes.ts"
import type { DetectRules } from "./object/detect-rules.ts"
import { ObjectScanner } from "./object/object-scanner.ts"
import { SimdResult } from "./simd/simd-scan.ts"

const QUOTE = 34
const COMMA = 44
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** The type of a watch line. ADDED and MODIFIED differ only in what the server assumes the watcher knows. */
export const WatchEventType = { unknown: 0, added: 1, modified: 2, deleted: 3, bookmark: 4, error: 5 } as const
export type WatchEventType = (typeof WatchEventType)[keyof typeof WatchEventType]

const typeNames = new Map<string, WatchEventType>([
  ["ADDED", WatchEventType.added],
  ["MODIFIED", WatchEventType.modified],
  ["DELETED", WatchEventType.deleted],
  ["BOOKMARK", WatchEventType.bookmark],
  ["ERROR", WatchEventType.error],
])

/** The code of a `type` as the API spells it; `unknown` for any other text. */
export const watchEventTypeOf = (name: string): WatchEventType => typeNames.get(name) ?? WatchEventType.unknown

const spelledTypes: ReadonlyArray<SpelledType> = [...typeNames].map(([name, type]) => ({
  bytes: Buffer.from(name),
  type,
}))

interface SpelledType {
  readonly bytes: Buffer
  readonly type: WatchEventType
}

/** `type` and `object` as little-endian words: the first four bytes, and the last four of the longer key. */
const TYPE = 0x65707974
const OBJE = 0x656a626f
const JECT = 0x7463656a

/** Reused for every line of one kind; the fields are the result, undefined after a false. */
export class WatchLineScanner {
  /** Never `unknown` after a true. */
  type: WatchEventType = WatchEventType.unknown
  /** The object's bytes [start, end) in the scanned buffer, braces included. */
  objectStart = 0
  objectEnd = 0
  /** The result for the object; meaningless if the type is ERROR. */
  readonly object: ObjectScanner

  constructor(rules: DetectRules) {
    this.object = new ObjectScanner(rules)
  }

  /** Scans the line that fills [start, end), white space around it allowed, with or without its line feed. */
  scan(bytes: Buffer, start: number, end: number): boolean {
    let last = end
    while (last > start && isWhiteSpace(bytes[last - 1] ?? 0)) last--
    if (start < 0 || last <= start || last > bytes.length) return false
    const quick = this.object.scanLineQuickly(bytes, start, last)
    if (quick !== undefined) {
      this.type = quick[SimdResult.type] as WatchEventType
      this.objectStart = quick[SimdResult.objectStart] ?? 0
      this.objectEnd = quick[SimdResult.objectEnd] ?? 0
      return true
    }
    return this.scanSteps(bytes, start, last)
  }

  /** The same in any order and with white space; [start, last) has no white space at its end. */
  private scanSteps(bytes: Buffer, start: number, last: number): boolean {
    const json = this.object.json
    this.type = WatchEventType.unknown
    this.objectStart = this.objectEnd = 0
    if (!json.load(bytes, last)) return false
    const view = json.view
    let at = json.skipSpace(start)
    if (view.getUint8(at) !== OPEN_BRACE) return false
    let understood = true
    do {
      at = json.skipSpace(at + 1)
      if (view.getUint8(at) !== QUOTE) return false
      const key = at + 1
      const keyEnd = json.skipPlainString(key)
      if (keyEnd < 0) return false
      at = json.skipColon(keyEnd)
      if (at < 0) return false
      const length = keyEnd - 1 - key
      const word = length >= 4 ? view.getInt32(key, true) : 0
      if (length === 4 && word === TYPE) {
        if (this.type !== WatchEventType.unknown || view.getUint8(at) !== QUOTE) return false
        const valueEnd = json.skipPlainString(at + 1)
        if (valueEnd < 0) return false
        this.type = this.readType(bytes, at + 1, valueEnd - 1)
        if (this.type === WatchEventType.unknown) return false
        at = valueEnd
      } else if (length === 6 && word === OBJE && view.getInt32(key + 2, true) === JECT) {
        if (this.objectEnd !== 0 || view.getUint8(at) !== OPEN_BRACE) return false
        this.objectStart = at
        let behind = this.object.scanAt(at)
        if (behind < 0) {
          // A Status need not look like an object; the type may come later.
          understood = false
          behind = json.skipValue(at)
          if (behind < 0) return false
        }
        this.objectEnd = at = behind
      } else {
        at = json.skipValue(at)
        if (at < 0) return false
      }
      at = json.skipSpace(at)
      if (at >= last) return false
    } while (view.getUint8(at) === COMMA)
    return (
      view.getUint8(at) === CLOSE_BRACE &&
      at === last - 1 &&
      this.objectEnd !== 0 &&
      this.type !== WatchEventType.unknown &&
      (understood || this.type === WatchEventType.error)
    )
  }

  private readType(bytes: Buffer, start: number, end: number): WatchEventType {
    for (let index = 0; index < spelledTypes.length; index++) {
      const candidate = spelledTypes[index] as SpelledType
      const name = candidate.bytes
      if (name.length !== end - start) continue
      let same = 0
      while (same < name.length && bytes[start + same] === name[same]) same++
      if (same === name.length) return candidate.type
    }
    return WatchEventType.unknown
  }
}
