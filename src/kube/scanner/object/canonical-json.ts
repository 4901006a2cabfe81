/**
 * Rewrites a valid JSON object into a form that the scanner understands: no white space between tokens; keys that a rule or a report may
 * name occur once and use an escape sequence only where JSON requires one, as do reported strings; reported members that are null are left
 * out. Everything else keeps its bytes, so the fingerprint is that of the original.
 *
 * If a key occurs twice, the last one wins, as in `JSON.parse` and in the API server's decoder.
 */

import { copyWithoutWhiteSpace, JsonBytes } from "../json/json-bytes.ts"

import { Capture, type MemberNode } from "./member-trie.ts"

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const OPEN_BRACE = 123

/** One member of an object: its decoded key, and its positions. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly keyEnd: number
  readonly valueStart: number
  readonly end: number
}

/** The text of the valid JSON string in [start, end), quotes included. */
export const decodeString = (bytes: Buffer, start: number, end: number): string =>
  String(JSON.parse(bytes.toString("utf8", start, end)))

/** The members of the valid object that starts at `position`, in their order. */
export const readMembers = (json: JsonBytes, position: number): ReadonlyArray<Member> => {
  const members: Member[] = []
  let at = json.skipSpace(position + 1)
  while (json.view.getUint8(at) === QUOTE) {
    const keyEnd = json.skipString(at + 1)
    const valueStart = json.skipColon(keyEnd)
    const end = json.skipValue(valueStart)
    members.push({ key: decodeString(json.bytes, at, keyEnd), start: at, keyEnd, valueStart, end })
    at = json.skipSpace(end)
    if (json.view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
  }
  return members
}

interface CanonicalObject {
  readonly bytes: Buffer
  /** Key and value of metadata.managedFields in the original, [0, 0) if it is absent. */
  readonly managedFieldsStart: number
  readonly managedFieldsEnd: number
}

class Writer {
  readonly parts: Buffer[] = []
  managedFieldsStart = 0
  managedFieldsEnd = 0
  private readonly json: JsonBytes

  constructor(json: JsonBytes) {
    this.json = json
  }

  text(text: string): void {
    this.parts.push(Buffer.from(text))
  }

  value(node: MemberNode | undefined, start: number, end: number): void {
    const first = this.json.view.getUint8(start)
    if (node?.inner === true && first === OPEN_BRACE) this.object(node, start)
    else if (node?.inner === true && first === OPEN_BRACKET) this.array(node, start)
    else if (node !== undefined && node.capture !== Capture.none && first === QUOTE) {
      this.string(start, end)
    } else {
      const target = Buffer.allocUnsafe(end - start)
      this.parts.push(target.subarray(0, copyWithoutWhiteSpace(this.json.bytes, start, end, target, 0)))
    }
  }

  /** A string with escapes is written anew, any other keeps its bytes, valid UTF-8 or not. */
  private string(start: number, end: number): void {
    const token = this.json.bytes.subarray(start, end)
    if (token.includes(BACKSLASH)) this.text(JSON.stringify(decodeString(token, 0, token.length)))
    else this.parts.push(token)
  }

  private object(node: MemberNode, position: number): void {
    const members = readMembers(this.json, position)
    const last = new Map(members.map((member) => [member.key, member]))
    let separator = "{"
    for (const member of members) {
      const child = node.byName.get(member.key)
      if (child !== undefined && (last.get(member.key) !== member || this.isAbsent(child, member.valueStart))) continue
      if (child?.capture === Capture.managedFields) {
        this.managedFieldsStart = member.start
        this.managedFieldsEnd = member.end
      }
      this.text(separator)
      this.string(member.start, member.keyEnd)
      this.text(":")
      this.value(child, member.valueStart, member.end)
      separator = ","
    }
    this.text(separator === "{" ? "{}" : "}")
  }

  private array(node: MemberNode, position: number): void {
    let separator = "["
    let at = this.json.skipSpace(position + 1)
    for (let index = 0; this.json.view.getUint8(at) !== OPEN_BRACKET + 2; index++) {
      const end = this.json.skipValue(at)
      this.text(separator)
      this.value(node.byIndex.get(index), at, end)
      separator = ","
      at = this.json.skipSpace(end)
      if (this.json.view.getUint8(at) === COMMA) at = this.json.skipSpace(at + 1)
    }
    this.text(separator === "[" ? "[]" : "]")
  }

  /** Go clients write null for members they leave out; to the API server both are the same. */
  private isAbsent(child: MemberNode, position: number): boolean {
    const capture = child.capture
    const reported = (capture !== Capture.none && capture <= Capture.lastString) || capture === Capture.ownerReferences
    return reported && this.json.view.getUint8(position) === 110
  }
}

/** @param bytes exactly one object, which is valid JSON */
export const canonicalObject = (root: MemberNode, bytes: Buffer): CanonicalObject => {
  const json = new JsonBytes()
  json.load(bytes, bytes.length)
  const writer = new Writer(json)
  writer.value(root, 0, bytes.length)
  const { managedFieldsStart, managedFieldsEnd } = writer
  return { bytes: Buffer.concat(writer.parts), managedFieldsStart, managedFieldsEnd }
}
