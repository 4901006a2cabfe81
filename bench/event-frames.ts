/** Watch events ready to be sent: a MODIFIED line per object as one HTTP chunk, framing included. */
import type { BenchKind } from "./bench-kinds.ts"
import { objectText } from "./bench-objects.ts"
import { ObjectTemplate } from "./object-template.ts"

/** One chunk per object, `count` objects; each is renumbered (version and change) before it is sent again. */
export const renderFrames = (kind: BenchKind, count: number): ReadonlyArray<ObjectTemplate> =>
  Array.from({ length: count }, (_, index) => {
    const line = `{"type":"MODIFIED","object":${objectText(kind, index)}}\n`
    const frame = new ObjectTemplate(`${line.length.toString(16)}\r\n${line}\r\n`)
    frame.number("index", index)
    return frame
  })
