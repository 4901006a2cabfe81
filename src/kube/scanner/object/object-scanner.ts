/**
 * Scans one Kubernetes object: finds the positions of its identity in the bytes and computes the fingerprint of its content.
 *
 * Guaranteed when a scan returns true: the bytes are one valid JSON object with a `metadata` object, and every field agrees with what
 * `JSON.parse` would find. False means "use the slow path", never "malformed": an escape sequence in a key near the fields of interest or
 * in a reported string, a duplicate reported or ignored member, a reported member of another type. Nothing outside [start, end) affects a
 * result. Nothing is allocated per object.
 */
import { isWhiteSpace } from "../json/json-bytes.ts"
import { rulesStart, threadScan as simd } from "../simd/simd-scan.ts"
import type { DetectRules } from "./detect-rules.ts"
import { Capture, compileMemberTrie, KeptMembers, type MemberNode } from "./member-trie.ts"
import { ObjectReport } from "./object-report.ts"

// Encodes change rules for the WebAssembly pass: the tree of member-trie.ts, laid out in bytes.

/** Their largest size in bytes. */
const rulesBytes = 56 * 1024

/** Nested objects that rules may reach into; the module has room for a few hundred. */
const deepest = 64

/** Bytes of the head, of a node, and of the table that finds children by the length of their key. */
const headBytes = 32
const nodeBytes = 24
const longestKey = 255
const tableBytes = (longestKey + 1) * 2
/** Keys are compared eight bytes at a time. */
const keyMargin = 8

/** What SimKube's hash counts for an object without a spec (member-trie.ts). */
const absentSpec = Buffer.from('"spec":null')

class TooLargeError extends Error {}

class RulesWriter {
  readonly bytes: Buffer = Buffer.alloc(rulesBytes)
  used = headBytes

  /** Writes a node with all its descendants; returns its position. */
  node(node: MemberNode, depth: number): number {
    if (depth > deepest || node.key.length > longestKey) throw new TooLargeError()
    const at = this.room(nodeBytes)
    const bytes = this.bytes
    bytes[at] = node.capture
    bytes[at + 1] = node.keep ? 1 : 0
    bytes[at + 2] = node.inner ? 1 : 0
    const key = this.room(node.key.length + keyMargin)
    node.key.copy(bytes, key)
    bytes.writeUInt32LE(rulesStart + key, at + 8)
    bytes.writeUInt32LE(node.key.length, at + 12)
    if (!node.inner) return at
    const table = this.room(tableBytes)
    bytes.writeUInt32LE(rulesStart + table, at + 20)
    for (const child of node.byName.values()) {
      const place = this.node(child, depth + 1)
      const entry = table + child.key.length * 2
      bytes.writeUInt32LE(bytes.readUInt16LE(entry), place + 16)
      bytes.writeUInt16LE(rulesStart + place, entry)
    }
    return at
  }

  private room(length: number): number {
    const at = this.used
    // Words of the module are aligned.
    this.used = (at + length + 7) & ~7
    if (this.used > rulesBytes) throw new TooLargeError()
    return at
  }
}

/** The bytes to put at {@link rulesStart}; `undefined` for rules that do not fit into the module. */
export const encodeRules = (
  { detect, countsAll }: Pick<DetectRules, "detect" | "countsAll">,
  root: MemberNode,
): Uint8Array | undefined => {
  const writer = new RulesWriter()
  const { bytes } = writer
  bytes.writeUInt32LE(countsAll ? 0 : 1, 0)
  if (detect === "spec") {
    bytes.writeUInt32LE(absentSpec.length, 4)
    absentSpec.copy(bytes, 8)
  }
  try {
    writer.node(root, 0)
  } catch (error) {
    if (error instanceof TooLargeError) return undefined
    throw error
  }
  return Uint8Array.from(bytes.subarray(0, writer.used))
}

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Reused for every object of one kind; its fields are the result, undefined after a false. */
export class ObjectScanner extends ObjectReport {
  /** The compiled rules, shared with the slow path. */
  readonly root: MemberNode
  private readonly rules: DetectRules
  /** Escape sequences in keys and reported strings are accepted unchanged. */
  private lenient = false
  private readonly kept = new KeptMembers(this.json)
  private scanNumber = 0
  private readonly simdRules: Uint8Array | undefined

  constructor(rules: DetectRules) {
    super()
    this.rules = rules
    this.root = compileMemberTrie(rules)
    this.simdRules = encodeRules(rules, this.root)
  }

  /** Scans the object that fills [start, end), white space around it allowed. Fields are undefined after a false. */
  scan(bytes: Buffer, start: number, end: number): boolean {
    let last = end
    while (last > start && isWhiteSpace(bytes[last - 1] ?? 0)) last--
    if (start < 0 || last <= start || last > bytes.length) return false
    if (!this.lenient && this.scanQuickly(bytes, start, last)) return true
    if (!this.json.load(bytes, last)) return false
    const first = this.json.skipSpace(start)
    return first < last && this.scanAt(first) === last
  }

  /**
   * Scans a watch line, without white space around it, if it has the form in which API servers write them.
   *
   * @returns the results of the WebAssembly pass, to be read at once; `undefined`: it must be scanned step by step
   */
  scanLineQuickly(bytes: Buffer, start: number, end: number): Int32Array | undefined {
    const rules = this.simdRules
    if (simd === undefined || rules === undefined || !simd.scanLine(rules, bytes, start, end)) return undefined
    this.adopt(simd.results)
    return simd.results
  }

  private scanQuickly(bytes: Buffer, start: number, end: number): boolean {
    const rules = this.simdRules
    if (simd === undefined || rules === undefined || !simd.scanObject(rules, bytes, start, end)) return false
    this.adopt(simd.results)
    return true
  }

  /**
   * The same for bytes that the slow path has converted to canonical form: since every key has only one spelling, escape sequences need no
   * special treatment. Spans of strings can then contain some.
   */
  scanCanonical(bytes: Buffer, start: number, end: number): boolean {
    this.lenient = true
    const understood = this.scan(bytes, start, end)
    this.lenient = false
    return understood
  }

  /**
   * Scans the object whose first byte is at `position` of the loaded cursor.
   *
   * @returns the position after it, or -1 for "use the slow path"
   */
  scanAt(position: number): number {
    this.scanNumber = (this.scanNumber + 1) & 0x3fffffff
    this.forget()
    this.kept.reset()
    if (this.json.view.getUint8(position) !== OPEN_BRACE) return -1
    const end = this.walkObject(this.root, position + 1)
    if (end < 0 || !this.hasMetadata) return -1
    if (this.managedFieldsEnd !== 0) this.placeManagedFields(this.managedFieldsStart, this.managedFieldsEnd)
    if (!this.rules.countsAll) {
      if (this.rules.detect === "spec") this.kept.addAbsentSpec()
      const fingerprint = this.kept.finish()
      this.fingerprintLow = fingerprint.low
      this.fingerprintHigh = fingerprint.high
    }
    return end
  }

  /** Walks over the members, from after the opening brace to after the closing one; -1 for "use the slow path". */
  private walkObject(node: MemberNode, position: number): number {
    const json = this.json
    const view = json.view
    let at = position
    let byte = view.getUint8(at)
    if (byte <= 32) {
      at = json.skipSpace(at)
      byte = view.getUint8(at)
    }
    if (byte === CLOSE_BRACE) return at + 1
    for (;;) {
      if (byte !== QUOTE) return -1
      const from = at
      json.spaced = false
      const keyEnd = this.lenient ? json.skipString(at + 1) : json.skipPlainString(at + 1)
      if (keyEnd < 0) return -1
      at = json.skipColon(keyEnd)
      if (at < 0) return -1
      const child = node.find(view, from + 1, keyEnd - 1)
      if (child === undefined) {
        at = json.skipValue(at)
        if (node.keep && at >= 0) this.kept.add(from, at, json.spaced)
      } else at = this.take(child, from, keyEnd, at)
      if (at < 0 || at >= json.end) return -1
      byte = view.getUint8(at)
      if (byte <= 32) {
        at = json.skipSpace(at)
        byte = view.getUint8(at)
      }
      if (byte === CLOSE_BRACE) return at + 1
      if (byte !== COMMA) return -1
      byte = view.getUint8(++at)
      if (byte <= 32) {
        at = json.skipSpace(at)
        byte = view.getUint8(at)
      }
    }
  }

  /** The same for the elements of an array, which rules name by their index. */
  private walkArray(node: MemberNode, position: number): number {
    const json = this.json
    const view = json.view
    let at = json.skipSpace(position)
    if (view.getUint8(at) === CLOSE_BRACKET) return at + 1
    for (let index = 0; ; index++) {
      const from = at
      json.spaced = false
      const child = node.byIndex.get(index)
      if (child === undefined) {
        at = json.skipValue(at)
        if (node.keep && at >= 0) this.kept.add(from, at, json.spaced)
      } else at = this.take(child, from, from, at)
      if (at < 0) return -1
      at = json.skipSpace(at)
      if (at >= json.end) return -1
      const byte = view.getUint8(at)
      if (byte === CLOSE_BRACKET) return at + 1
      if (byte !== COMMA) return -1
      at = json.skipSpace(at + 1)
    }
  }

  /** Handles the value at `position` of a member that a node describes; its key is at [from, keyEnd), quotes included. */
  private take(child: MemberNode, from: number, keyEnd: number, position: number): number {
    if (child.seen === this.scanNumber) return -1
    child.seen = this.scanNumber
    const json = this.json
    const first = json.view.getUint8(position)
    const capture = child.capture
    let at: number
    const isText = capture <= Capture.lastString ? capture !== Capture.none : capture === Capture.initialEventsEnd
    if (isText && (first === QUOTE || capture !== Capture.initialEventsEnd)) {
      if (first !== QUOTE) return -1
      at = this.lenient ? json.skipString(position + 1) : json.skipPlainString(position + 1)
    } else if (child.inner && (first === OPEN_BRACE || first === OPEN_BRACKET)) {
      at = this.enter(child, first, from, keyEnd, position)
      if (at < 0 || capture === Capture.none) return at
      return this.report(capture, first, from, position, at) ? at : -1
    } else at = json.skipValue(position)
    if (at < 0) return -1
    if (child.keep) this.kept.add(from, at, json.spaced)
    return capture === Capture.none || this.report(capture, first, from, position, at) ? at : -1
  }

  private enter(child: MemberNode, first: number, from: number, keyEnd: number, position: number): number {
    const json = this.json
    this.kept.enter(from, keyEnd, first)
    const at = first === OPEN_BRACE ? this.walkObject(child, position + 1) : this.walkArray(child, position + 1)
    if (at >= 0 && !this.kept.leave() && child.keep && json.skipSpace(position + 1) === at - 1) {
      this.kept.add(from, at, true)
    }
    return at
  }
}
