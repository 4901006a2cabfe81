/** A trace as the one file of HTML, and what a browser would find in it. */
import { htmlEncoder, type TraceItem } from "../../../src/trace/index.ts"
import type { InlinedData } from "../../../src/ui/file/blocks.ts"
import { fileSource } from "../../../src/ui/file/file-source.ts"
import type { HistorySource } from "../../../src/ui/source/source.ts"

const page = { script: "", style: "" }

export const written = (items: Iterable<TraceItem>): string => {
  const encoder = htmlEncoder({ page })
  const pieces: Uint8Array[] = []
  for (const item of items) {
    encoder.add(item)
    for (let piece = encoder.take(); piece !== undefined; piece = encoder.take()) pieces.push(piece)
  }
  return Buffer.concat([...pieces, ...encoder.finish()]).toString()
}

export const dataIn = (html: string): InlinedData => ({
  facts: /<script type="application\/json" id="facts">(.*?)<\/script>/s.exec(html)?.[1] ?? "",
  blocks: [...html.matchAll(/<script type="application\/octet-stream" data-(states|events)>([^<]*)<\/script>/g)].map(
    ([, name, text = ""]) => ({ name: name === "states" ? "states" : "events", text: () => text }),
  ),
})

export const sourceOf = (items: Iterable<TraceItem>): HistorySource => fileSource(dataIn(written(items)), "a trace")
