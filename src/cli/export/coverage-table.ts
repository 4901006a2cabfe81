/** What is recorded, for people: a line for each kind, and below it each namespace that differs, each gap and each late range. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { describeRedacted, RedactedValues } from "../../kube/offline.ts"
import { formatLocalTime } from "../../local-time.ts"
import { visible } from "../../text/index.ts"
import type { JsonValue } from "../../trace/index.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatDuration, formatInteger } from "../terminal/quantities.ts"
import { ExportCut } from "./connection/export-errors.ts"
import type { RecorderAddress } from "./connection/recorder-connection.ts"
import { requestCoverage } from "./export-client.ts"
import { describeLate, Late } from "./late-sentences.ts"

/** The part of a recorder's response that is printed; it may contain more. */
const CoverageAnswer = Schema.Struct({
  kinds: Schema.Array(
    Schema.Struct({
      gvk: Schema.String,
      state: Schema.String,
      detail: Schema.String,
      namespaces: Schema.Array(
        Schema.Struct({
          namespace: Schema.String,
          state: Schema.String,
          detail: Schema.String,
          since: Schema.optionalKey(Schema.Number),
          until: Schema.optionalKey(Schema.Number),
        }),
      ),
      events: Schema.Number,
      ranges: Schema.Array(Schema.Struct({ start: Schema.Number, end: Schema.Number })),
      gaps: Schema.Array(
        Schema.Struct({
          start: Schema.Number,
          end: Schema.Number,
          namespace: Schema.String,
          reason: Schema.String,
          detail: Schema.String,
        }),
      ),
      late: Schema.Array(Late),
      isComplete: Schema.Boolean,
    }),
  ),
  archive: Schema.optionalKey(
    Schema.Struct({
      ...{ address: Schema.String, lagSeconds: Schema.Number, segment: Schema.Number, epoch: Schema.Number },
      trouble: Schema.optionalKey(Schema.String),
    }),
  ),
  /** Absent in the response of an earlier version. */
  redacted: Schema.optionalKey(Schema.Array(RedactedValues)),
})
export type CoverageAnswer = typeof CoverageAnswer.Type
type Kind = CoverageAnswer["kinds"][number]

/** What is recorded in a window, in µs since the Unix epoch, the end exclusive: read, and as the recorder describes it. Rejects with an ExportError. */
export const askCoverage = async (
  address: RecorderAddress,
  window: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): Promise<{ readonly coverage: CoverageAnswer; readonly answer: JsonValue }> => {
  const answer = await requestCoverage(address, window, signal)
  const reading = Schema.decodeUnknownResult(CoverageAnswer)(answer)
  if (Result.isSuccess(reading)) return { coverage: reading.success, answer }
  const reason = "the response is not a recorder's coverage"
  throw new ExportCut({ server: address.recorder.name, bytes: 0, reason })
}

/** Whether nothing is missing of any kind that is, or was to be, recorded. Of kinds that are no longer recorded, only gaps count: they may be gone. */
export const isWhole = ({ kinds }: CoverageAnswer): boolean =>
  kinds.every(({ isComplete, state, gaps }) => isComplete || (state === "untracked" && gaps.length === 0))

const head = ["KIND", "EVENTS", "SINCE", "UNTIL", "COMPLETE", "STATE"]

/** Lines without line breaks. `nowMs` decides which times need a date. */
export const coverageLines = (
  { kinds, redacted = [], archive }: CoverageAnswer,
  nowMs: number,
): ReadonlyArray<string> => {
  const time = (micros: number): string => formatLocalTime(micros / 1000, nowMs)
  const blocks = kinds.map((kind) => ({ rows: rowsOf(kind, time), notes: notesOf(kind, time, nowMs) }))
  // A note belongs below the rows of its kind.
  const [headLine = "", ...lines] = alignedRows([head, ...blocks.flatMap(({ rows }) => rows)], (column) => column === 1)
  const replaced = redacted.length === 0 ? [] : [`values replaced in the recording: ${describeRedacted(redacted)}`]
  const told = blocks.flatMap(({ rows, notes }) => [...lines.splice(0, rows.length), ...notes])
  return [headLine, ...[...told, ...replaced, ...(archive === undefined ? [] : [archiveLine(archive)])].map(visible)]
}

const archiveLine = ({ address, lagSeconds, segment, trouble }: NonNullable<CoverageAnswer["archive"]>): string =>
  `archived in ${address} up to segment ${segment}, ${formatDuration(lagSeconds * 1000)} ago${trouble === undefined ? "" : `: ${trouble}`}`

type Time = (micros: number) => string

const rowsOf = (kind: Kind, time: Time): ReadonlyArray<ReadonlyArray<string>> => {
  const { gvk, events, ranges, isComplete, state, detail, namespaces } = kind
  const [first, last] = [ranges[0], ranges.at(-1)]
  const stateText = state === "watching" || detail === "" ? state : `${state}: ${detail}`
  const whole = [
    gvk,
    formatInteger(events),
    first === undefined ? "-" : time(first.start),
    last === undefined ? "-" : time(last.end),
    isComplete ? "yes" : "no",
    stateText,
  ]
  // In most recordings all namespaces are alike: they were listed together.
  const texts = namespaces.map(({ since, until, state: its, detail: why }) => [
    since === undefined ? "-" : time(since),
    until === undefined ? "-" : time(until),
    its === "watching" || why === "" ? its : `${its}: ${why}`,
  ])
  const differ = new Set(texts.map((each) => each.join("|"))).size > 1
  const parts = namespaces.flatMap(({ namespace }, index) => {
    const [since = "", until = "", text = ""] = texts[index] ?? []
    return differ ? [[`  ${namespace}`, "", since, until, "", text]] : []
  })
  return [whole, ...parts]
}

const notesOf = ({ gvk, gaps, late }: Kind, time: Time, nowMs: number): ReadonlyArray<string> => [
  ...gaps.map(
    ({ start, end, namespace, reason, detail }) =>
      `  gap from ${time(start)} to ${time(end)}${within(namespace)}: ${reason}${detail === "" ? "" : ` (${detail})`}`,
  ),
  ...late.map((each) => `  ${describeLate(gvk, each, nowMs)}`),
]

const within = (namespace: string): string => (namespace === "" ? "" : ` in namespace ${namespace}`)
