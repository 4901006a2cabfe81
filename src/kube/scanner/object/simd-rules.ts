/** Encodes change rules for the WebAssembly pass: the tree of member-trie.ts, laid out in bytes. */

import { rulesStart } from "../simd/simd-scan.ts"
import type { DetectRules } from "./detect-rules.ts"
import type { MemberNode } from "./member-trie.ts"

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

/** What SimKube's hash counts for an object without a spec (kept-members.ts). */
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
