/** NDJSON as a {@link TraceDecoder} and {@link TraceEncoder}: every item has a line, so nothing is left out. */

import type { TraceItem } from "../../trace-item.ts"
import { BadTraceError, nothingLeftOut, type TraceDecoder, type TraceEncoder, UnwritableTraceError } from "../format.ts"
import { NdjsonError, type NdjsonItem } from "./ndjson.ts"
import { NdjsonReader } from "./ndjson-reader.ts"
import { NdjsonWriter } from "./ndjson-writer.ts"

const FORMAT = "ndjson"

export const ndjsonDecoder = (): TraceDecoder => {
  const reader = new NdjsonReader()
  return { push: (chunk) => items(() => reader.push(chunk)), end: () => items(() => reader.end()) }
}

function* items(read: () => Iterable<NdjsonItem>): Generator<TraceItem> {
  try {
    for (const item of read()) if (item.type !== "end") yield item
  } catch (error) {
    if (!(error instanceof NdjsonError)) throw error
    throw new BadTraceError({ format: FORMAT, offset: error.offset, detail: error.message })
  }
}

export const ndjsonEncoder = (): TraceEncoder => {
  let writer: NdjsonWriter | undefined
  const expectWriter = (): NdjsonWriter => {
    if (writer !== undefined) return writer
    throw new UnwritableTraceError({ format: FORMAT, detail: "the trace does not begin with its header" })
  }
  return {
    leftOut: nothingLeftOut,
    add(item) {
      if (item.type === "header") writer = new NdjsonWriter(item)
      else expectWriter().addItem(item)
    },
    take: () => writer?.take(),
    finish: () => [expectWriter().end()],
  }
}
