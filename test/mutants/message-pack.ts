/** Writes trees as MessagePack, with none of our own code. */
import { Encoder } from "@msgpack/msgpack"
import { Fields, Raw, type Tree } from "./tree.ts"

const encoder = new Encoder({ useBigInt64: true })

/** The bytes of the tree. Maps keep their order, and keys of any type. */
export const messagePackOf = (tree: Tree): Buffer => {
  const parts: Uint8Array[] = []
  const write = (node: Tree): void => {
    if (node instanceof Raw) parts.push(node.bytes)
    else if (Array.isArray(node)) {
      parts.push(header(0x90, 0xdc, node.length))
      for (const item of node) write(item)
    } else if (node instanceof Fields) {
      parts.push(header(0x80, 0xde, node.entries.length))
      for (const part of node.entries.flat()) write(part)
    } else parts.push(encoder.encode(node))
  }
  write(tree)
  return Buffer.concat(parts)
}

const header = (short: number, long: number, length: number): Uint8Array => {
  if (length < 16) return Uint8Array.of(short | length)
  const bytes = Buffer.alloc(5)
  bytes.writeUInt8(length < 0x1_0000 ? long : long + 1)
  if (length < 0x1_0000) bytes.writeUInt16BE(length, 1)
  else bytes.writeUInt32BE(length, 1)
  return length < 0x1_0000 ? bytes.subarray(0, 3) : bytes
}
