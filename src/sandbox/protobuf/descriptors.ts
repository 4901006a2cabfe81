/**
 * The protobuf messages of the built-in kinds, as data: field numbers, the names and order of their JSON, and what
 * encoding/json does with each when it is empty. Written by scripts/protobuf.ts; read from disk once, when the first
 * protobuf body comes (some 3 ms).
 */

import { existsSync, readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"

export interface FieldDescriptor {
  readonly number: number
  /** The key in JSON; empty for an inlined struct. */
  readonly name: string
  readonly shape: "single" | "list" | "map"
  /** A message's name, or one of the words that decode-message.ts knows. */
  readonly type: string
  /** Presence on the wire is presence in JSON. */
  readonly isPointer: boolean
  /** Left out when empty; structs never are. */
  readonly omitEmpty: boolean
  /** Left out when zero, structs too. */
  readonly omitZero: boolean
  /** Its fields stand in the object around it. */
  readonly isInline: boolean
}

export interface Descriptors {
  /** `apps/v1.Deployment` to the name of its message. */
  readonly kinds: ReadonlyMap<string, string>
  /** The message of DeleteOptions, which every group takes. */
  readonly deleteOptions: string
  /** By name, in the order of JSON. */
  readonly messages: ReadonlyMap<string, ReadonlyArray<FieldDescriptor>>
}

/** From this folder in the sources; from dist/cli.js; from dist/lib/ and other folders of dist. */
const places = ["./data/", "./protobuf/", "../protobuf/"]
const file = "messages.json.zst"

interface Stored {
  readonly kinds: Readonly<Record<string, string>>
  readonly deleteOptions: string
  readonly messages: Readonly<Record<string, ReadonlyArray<readonly [number, string, string, string]>>>
}

let loaded: Descriptors | undefined

export const protobufDescriptors = (): Descriptors => {
  loaded ??= load()
  return loaded
}

const load = (): Descriptors => {
  const candidates = places.map((place) => new URL(`${place}${file}`, import.meta.url))
  const found = candidates.find((candidate) => existsSync(candidate))
  // Nothing a caller could do about it: the package is incomplete.
  if (found === undefined) throw new Error(`the protobuf descriptors are missing: no ${places.join(" nor ")} here`)
  const stored = JSON.parse(zstdDecompressSync(readFileSync(found)).toString("utf8")) as Stored
  const messages = new Map<string, ReadonlyArray<FieldDescriptor>>()
  for (const [name, fields] of Object.entries(stored.messages)) messages.set(name, fields.map(described))
  return { kinds: new Map(Object.entries(stored.kinds)), deleteOptions: stored.deleteOptions, messages }
}

const described = ([number, name, type, flags]: readonly [number, string, string, string]): FieldDescriptor => {
  const shape = type.startsWith("[]") ? "list" : type.startsWith("{}") ? "map" : "single"
  return {
    number,
    name,
    shape,
    type: shape === "single" ? type : type.slice(2),
    isPointer: flags.includes("p"),
    omitEmpty: flags.includes("o"),
    omitZero: flags.includes("z"),
    isInline: flags.includes("i"),
  }
}
