/**
 * The objects of one kind as a list or as the beginning of a streaming list, in pieces of slightly more than 64 KiB: 430 MB of Pods are
 * sent without being in memory.
 */
import type { BenchKind } from "./bench-kinds.ts"
import { objectText } from "./bench-objects.ts"
import { firstVersion, ObjectTemplate } from "./object-template.ts"

const pieceBytes = 64 * 1024
/** Different texts among the objects of a list. The next one alike is megabytes away, beyond what compression sees. */
const varieties = 1000
/** Bytes of different texts in memory; beyond that objects repeat sooner. */
const heldBytes = 64e6

/** The text around each object, and between two. */
export interface Affixes {
  readonly before: string
  readonly between: string
  readonly after: string
}

/** By everything that is in them: pages of one list share theirs, since rendering costs more than sending. */
const templatesByText = new Map<string, Array<ObjectTemplate>>()

const templatesOf = (kind: BenchKind, affixes: Affixes): Array<ObjectTemplate> => {
  const key = JSON.stringify([kind, affixes])
  const templates = templatesByText.get(key) ?? []
  templatesByText.set(key, templates)
  return templates
}

/**
 * The objects `from` to `until` (not included). All pieces share the same memory, so the caller must have sent one before it requests the
 * next.
 */
export function* renderObjects(kind: BenchKind, from: number, until: number, affixes: Affixes): Generator<Buffer> {
  const { before, between, after } = affixes
  const templates = templatesOf(kind, affixes)
  const piece = Buffer.alloc(pieceBytes + kind.lineBytes * 2)
  const different = Math.max(1, Math.min(varieties, Math.floor(heldBytes / kind.lineBytes)))
  let start = between.length
  let end = 0
  for (let index = from; index < until; index++) {
    const variety = index % different
    templates[variety] ??= new ObjectTemplate(`${between}${before}${objectText(kind, variety)}${after}`)
    end = templates[variety].copyTo(piece, end, index, firstVersion + index)
    if (end < pieceBytes && index + 1 < until) continue
    yield piece.subarray(start, end)
    start = 0
    end = 0
  }
}
