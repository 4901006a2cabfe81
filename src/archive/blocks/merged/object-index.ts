/**
 * Which objects a merged block has, readable without unpacking its table of contents: it stands before the table in the same BLOB, as a frame that zstd
 * skips (RFC 8878, 3.1.2). Most questions about one object are answered by it for most blocks.
 */
import { crc32 } from "node:zlib"
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../../message-of.ts"
import { MalformedFrameError } from "../../../wire/observations.ts"
import { NumberSet } from "./number-set.ts"

/** The first of the numbers with which a frame to skip may begin. */
const magic = 0x184d2a50
/** Magic number and length, as zstd demands, and the CRC-32 of what follows. */
const headerBytes = 12

/** Fields of `ObjectIndex` and `KindObjects`. */
const kindTag = (1 << 3) | 2
const gvkTag = (1 << 3) | 2
const numbersTag = (2 << 3) | 2

/** The objects of one frame of the table, in the order of frames. */
interface KindObjects<Numbers> {
  readonly gvk: string
  readonly numbers: Numbers
}

/** Objects that are looked for. */
export interface WantedObjects {
  readonly gvk: string
  readonly numbers: ReadonlySet<number>
}

export const writeObjectIndex = (kinds: ReadonlyArray<KindObjects<Uint8Array>>): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const { gvk, numbers } of kinds)
    writer.uint32(kindTag).fork().uint32(gvkTag).string(gvk).uint32(numbersTag).bytes(numbers).ldelim()
  const content = writer.finish()
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32LE(magic, 0)
  header.writeUInt32LE(content.length + 4, 4)
  header.writeUInt32LE(crc32(content), 8)
  return Buffer.concat([header, content])
}

/** Bytes of a BLOB in which most indexes are. */
export const indexHeadBytes = 4096

/** More than these are not looked for: unpacking the table then takes no longer. */
const mostLookedFor = 64

/** An index, and where the table begins. */
export class ObjectIndex {
  readonly kinds: ReadonlyArray<KindObjects<NumberSet>>
  /** Of all of it. */
  readonly byteLength: number

  private constructor(kinds: ReadonlyArray<KindObjects<NumberSet>>, byteLength: number) {
    this.kinds = kinds
    this.byteLength = byteLength
  }

  /** That of a BLOB, of which the beginning suffices; `undefined`: it has none, or not as a whole. @throws MalformedFrameError */
  static of(toc: Uint8Array): ObjectIndex | undefined {
    const view = new DataView(toc.buffer, toc.byteOffset, toc.byteLength)
    if (toc.length < headerBytes || view.getUint32(0, true) !== magic) return undefined
    const end = 8 + view.getUint32(4, true)
    if (end > toc.length) return undefined
    try {
      const content = toc.subarray(headerBytes, end)
      if (crc32(content) !== view.getUint32(8, true)) throw new RangeError("its checksum is another one")
      return new ObjectIndex(readKinds(content), end)
    } catch (error) {
      throw new MalformedFrameError({ reason: `index of objects: ${messageOf(error)}`, byteLength: toc.length })
    }
  }

  /** Whether the block may have one of them: `true` as well if they are too many to look for. */
  mayHold({ gvk, numbers }: WantedObjects): boolean {
    const ofKind = this.kinds.filter((each) => each.gvk === gvk)
    if (numbers.size > mostLookedFor) return ofKind.length > 0
    for (const number of numbers) if (ofKind.some((each) => each.numbers.rankOf(number) >= 0)) return true
    return false
  }
}

const readKinds = (content: Uint8Array): ReadonlyArray<KindObjects<NumberSet>> => {
  const reader = protobuf.Reader.create(content)
  const kinds: Array<KindObjects<NumberSet>> = []
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag !== kindTag) {
      reader.skipType(tag & 7)
      continue
    }
    const end = reader.uint32() + reader.pos
    let [gvk, numbers] = ["", new Uint8Array(0)]
    while (reader.pos < end) {
      const field = reader.uint32()
      if (field === gvkTag) gvk = reader.string()
      else if (field === numbersTag) numbers = reader.bytes() as Uint8Array<ArrayBuffer>
      else reader.skipType(field & 7)
    }
    kinds.push({ gvk, numbers: new NumberSet(numbers) })
  }
  return kinds
}
