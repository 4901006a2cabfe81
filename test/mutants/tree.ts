/**
 * Values that are mutated before they are written: JSON's, with maps as lists of entries, so that a map can have a key twice or one that is no
 * string, and with pieces of the written form that no value has.
 */

import { IntegralFloat } from "../../src/trace/index.ts"

/** Written as it is, in the syntax of the format. */
export class Raw {
  readonly bytes: Buffer

  constructor(text: string | Buffer) {
    this.bytes = Buffer.from(text as string)
  }
}

/** A map. */
export class Fields {
  readonly entries: Array<[key: Tree, value: Tree]>

  constructor(entries: Array<[Tree, Tree]>) {
    this.entries = entries
  }
}

export type Tree = null | boolean | number | bigint | string | Raw | Fields | Tree[]

/** The tree of plain data: of JSON, or of MessagePack with maps as `Map`. A float without a fraction becomes an integer. */
export const treeOf = (value: unknown): Tree => {
  if (Array.isArray(value)) return value.map(treeOf)
  if (value instanceof Map) return new Fields([...value].map(([key, item]) => [treeOf(key), treeOf(item)]))
  if (typeof value !== "object" || value === null) return value as Tree
  if (value instanceof IntegralFloat) return value.value
  return new Fields(Object.entries(value).map(([key, item]) => [key, treeOf(item)]))
}

/** A copy that can be changed. Raw pieces are shared. */
export const copyOf = (tree: Tree): Tree => {
  if (Array.isArray(tree)) return tree.map(copyOf)
  return tree instanceof Fields ? new Fields(tree.entries.map(([key, value]) => [copyOf(key), copyOf(value)])) : tree
}

/** How many nodes it has, itself included. */
export const sizeOf = (tree: Tree): number => {
  const parts = Array.isArray(tree) ? tree : tree instanceof Fields ? tree.entries.flat() : []
  return parts.reduce<number>((size, part) => size + sizeOf(part), 1)
}

/** As JSON, which is YAML as well. */
export const jsonOf = (tree: Tree): Buffer => {
  const parts: Array<string | Buffer> = []
  const write = (node: Tree): void => {
    if (node instanceof Raw) parts.push(node.bytes)
    else if (Array.isArray(node)) list("[", node, write, "]")
    else if (node instanceof Fields) list("{", node.entries, writeEntry, "}")
    else parts.push(typeof node === "bigint" ? String(node) : JSON.stringify(node))
  }
  const writeEntry = ([key, value]: [Tree, Tree]): void => {
    // A key of JSON is a string, whatever the mutation says.
    write(typeof key === "string" || key instanceof Raw ? key : jsonOf(key).toString())
    parts.push(":")
    write(value)
  }
  const list = <Item>(open: string, items: ReadonlyArray<Item>, each: (item: Item) => void, close: string): void => {
    parts.push(open)
    for (const [index, item] of items.entries()) {
      if (index > 0) parts.push(",")
      each(item)
    }
    parts.push(close)
  }
  write(tree)
  return joinedParts(parts)
}

/** All parts one after the other. */
export const joinedParts = (parts: ReadonlyArray<string | Buffer>): Buffer => {
  const buffers: Buffer[] = []
  let text = ""
  for (const part of parts) {
    if (typeof part === "string") text += part
    else {
      buffers.push(Buffer.from(text), part)
      text = ""
    }
  }
  return buffers.length === 0 ? Buffer.from(text) : Buffer.concat([...buffers, Buffer.from(text)])
}
