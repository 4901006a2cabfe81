/** Watch events ready to be sent: a MODIFIED line per object as one HTTP chunk, framing included. */
import type { BenchKind } from "./bench-kinds.ts"
import { objectText } from "./bench-objects.ts"
import { firstVersion, ObjectTemplate } from "./object-template.ts"

/** Bytes of frames that a generator may hold; beyond that fewer objects change. */
const heldBytes = 64e6

/** Frames of at most `count` objects, at least of one. */
export const frameCount = (kind: BenchKind, count: number): number =>
  Math.max(1, Math.min(count, Math.floor(heldBytes / kind.lineBytes)))

/** The texts of each kind: a watch that begins must not hold up the others by rendering them. */
const textsByKind = new Map<string, Array<string>>()

const textOf = (kind: BenchKind, index: number): string => {
  const key = JSON.stringify(kind)
  const texts = textsByKind.get(key) ?? []
  textsByKind.set(key, texts)
  texts[index] ??= objectText(kind, index)
  return texts[index]
}

/**
 * One chunk per object, `count` objects, each as it stands in the list; it is renumbered (version, and change or heartbeat)
 * before it is sent again.
 */
export const renderFrames = (kind: BenchKind, count: number): ReadonlyArray<ObjectTemplate> =>
  Array.from({ length: count }, (_, index) => {
    const line = `{"type":"MODIFIED","object":${textOf(kind, index)}}\n`
    const frame = new ObjectTemplate(`${line.length.toString(16)}\r\n${line}\r\n`)
    frame.number("index", index)
    // As objects of a list are numbered, so that a heartbeat before the first change differs in status alone.
    frame.number("change", firstVersion + index)
    frame.number("heartbeat", firstVersion + index)
    return frame
  })
