/**
 * Selects a format: by its name, by the name of a file, by what an HTTP client accepts, or by the first bytes. Loads no codec.
 */

import { withoutCompressionExtension } from "./compression-names.ts"

/** The name of a format and its identifying marks. */
interface TraceFormatFacts {
  readonly name: string
  /** One line for people. */
  readonly summary: string
  /** With their dots, the preferred one first. */
  readonly extensions: ReadonlyArray<string>
  /** The first is the one in responses. */
  readonly mediaTypes: ReadonlyArray<string>
  /** Whether it can be displayed in a terminal. */
  readonly isText: boolean
}

/** All formats; the first is the default if none is chosen. */
export const TRACE_FORMATS = [
  {
    name: "ndjson",
    summary: "complete and lossless: one JSON line per event",
    extensions: [".ndjson", ".jsonl"],
    mediaTypes: ["application/x-ndjson", "application/jsonl"],
    isText: true,
  },
  {
    name: "simkube",
    summary: "what SimKube 2 replays",
    extensions: [".sktrace"],
    mediaTypes: ["application/vnd.simkube.trace+msgpack", "application/msgpack", "application/vnd.msgpack"],
    isText: false,
  },
  {
    name: "kwok",
    summary: "the input of kwokctl snapshot replay: YAML with ResourcePatch documents",
    extensions: [".yaml", ".yml"],
    mediaTypes: ["application/yaml", "application/x-yaml", "text/yaml"],
    isText: true,
  },
] as const satisfies ReadonlyArray<TraceFormatFacts>

/** The name of a format. */
export type TraceFormatName = (typeof TRACE_FORMATS)[number]["name"]

/** Their names, in order. */
export const TRACE_FORMAT_NAMES: ReadonlyArray<TraceFormatName> = TRACE_FORMATS.map(({ name }) => name)

/** The facts of a format. */
export const factsOf = (name: TraceFormatName): TraceFormatFacts =>
  TRACE_FORMATS.find((format) => format.name === name) ?? TRACE_FORMATS[0]

/** Detects it by the end of a file's name, ignoring a compression (`trace.sktrace.zst`); letter case does not matter. */
export const formatOfFileName = (file: string): TraceFormatName | undefined => {
  const { base } = withoutCompressionExtension(file)
  const lower = base.toLowerCase()
  return TRACE_FORMATS.find(({ extensions }) => extensions.some((extension) => lower.endsWith(extension)))?.name
}

/**
 * Selects it by an Accept header, by the rules of RFC 9110 §12.5.1: the format that the client prefers (`q`), among equals the first one
 * here, ndjson. `undefined` if it accepts none. Without a header anything is accepted.
 */
export const formatOfAccept = (accept: string | undefined): TraceFormatName | undefined => {
  if (accept === undefined || accept.trim() === "") return TRACE_FORMATS[0].name
  const ranges = accept.split(",").flatMap(parseRange)
  let best: { readonly name: TraceFormatName; readonly quality: number } | undefined
  for (const { name, mediaTypes } of TRACE_FORMATS) {
    const [usual, ...aliases] = mediaTypes
    // A wildcard matches only the main type: an alias must not bring back a type that the client excluded by name.
    const byAlias = aliases.map((alias) => ranges.find(({ type }) => type === alias)?.quality ?? 0)
    const quality = Math.max(qualityOf(usual, ranges), ...byAlias)
    if (quality > (best?.quality ?? 0)) best = { name, quality }
  }
  return best?.name
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const parseRange = (text: string): ReadonlyArray<MediaRange> => {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase())
  if (!/^[^/\s]+\/[^/\s]+$/.test(type)) return []
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
  const quality = weight === undefined ? 1 : Number(weight)
  // An invalid weight makes the range unusable, not the request.
  return [{ type, quality: quality >= 0 && quality <= 1 ? quality : 0 }]
}

/** Among the matching ranges, the most specific one decides. */
const qualityOf = (type: string, ranges: ReadonlyArray<MediaRange>): number => {
  for (const wanted of [type, `${type.slice(0, type.indexOf("/"))}/*`, "*/*"]) {
    const found = ranges.find((range) => range.type === wanted)
    if (found !== undefined) return found.quality
  }
  return 0
}

/** Bytes from the start that {@link formatOfBytes} uses at most. */
export const FORMAT_SIGNATURE_BYTES = 512

/** Detects it by the first (decompressed) bytes of a file; `undefined` if they belong to no trace. */
export const formatOfBytes = (head: Uint8Array): TraceFormatName | undefined => {
  const [first = 0] = head
  // A map of a few pairs, or an array as in version 1: its reader rejects that with a better message than "not a trace".
  if ((first >= 0x80 && first <= 0x9f) || (first >= 0xdc && first <= 0xdf)) return "simkube"
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, FORMAT_SIGNATURE_BYTES)).toString()
  if (/^\s*\{/.test(text)) return "ndjson"
  // White space within a line only: if the repeated part could match line ends in more than one way, 60 empty lines would take for ever.
  return /^\uFEFF?(?:[ \t\r]*(?:#[^\n]*|---[^\n]*|%YAML[^\n]*)?\n)*\s*(?:apiVersion|kind|metadata|resource|target|---|#)/.test(
    text,
  )
    ? "kwok"
    : undefined
}
