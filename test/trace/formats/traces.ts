/** The real traces that round trips are tested with, and conversions of whole files in memory. */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { openDecoder, openEncoder } from "../../../src/trace/files/codecs.ts"
import { convertTrace, needsSurvey, surveyTrace } from "../../../src/trace/formats/convert.ts"
import { decodedItems } from "../../../src/trace/formats/decoded-items.ts"
import type { LeftOut } from "../../../src/trace/formats/format.ts"
import type { TraceFormatName } from "../../../src/trace/formats/names.ts"
import { memorySpool } from "../../../src/trace/spool.ts"
import { goldenTrace } from "../recording.ts"

/** SimKube's published example traces, which are not ours to copy. */
export const publishedNames = ["bare-pods.sktrace", "cronjob.sktrace", "dsb-scaling.sktrace"] as const
export type PublishedName = (typeof publishedNames)[number]

const beside = fileURLToPath(new URL("../../../../shared/data/traces/", import.meta.url))

/** Their directory: the one in `KUBEREEL_TRACES`, else beside the checkout; `undefined` if neither exists. */
const directory = process.env.KUBEREEL_TRACES ?? (existsSync(beside) ? beside : undefined)

/** Why a test that needs them is skipped, and how to run it; `undefined` if they are available. */
export const whyNoPublished =
  directory === undefined ? "set KUBEREEL_TRACES to the directory with SimKube's example traces" : undefined

/** One of them. If the variable names a directory without them, this fails. */
export const publishedTrace = (name: PublishedName): Uint8Array => readFileSync(join(directory ?? "", name))

/** Every real trace by name. */
export const realTraces: ReadonlyArray<readonly [name: string, read: () => Uint8Array, isPublished: boolean]> = [
  ["recording", () => goldenTrace("recording"), false],
  ["recording-2", () => goldenTrace("recording-2"), false],
  ...publishedNames.map((name) => [name, () => publishedTrace(name), true] as const),
]

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

/** A whole file in another format, and what that format could not represent; read in pieces of `size` bytes. */
export const converted = async (
  bytes: Uint8Array,
  from: TraceFormatName,
  to: TraceFormatName,
  size = 64 * 1024,
): Promise<{ readonly bytes: Buffer; readonly leftOut: LeftOut }> => {
  const facts = needsSurvey(from, to)
    ? await surveyTrace(decodedItems(pieces(bytes, size), await openDecoder(from)))
    : undefined
  const encoder = await openEncoder(to, { spool: memorySpool, ...(facts && { facts }) })
  const out: Uint8Array[] = []
  for await (const piece of convertTrace(decodedItems(pieces(bytes, size), await openDecoder(from)), encoder))
    out.push(piece)
  return { bytes: Buffer.concat(out), leftOut: encoder.leftOut }
}
