/**
 * A report as `reel compare` reads it: of version 1, written by this release or another, with the members that are compared. What is
 * missing because the cluster was not recorded is `undefined`.
 */
import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"

const Spread = Schema.Struct({ p50: Schema.Number, p95: Schema.Number, p99: Schema.Number, max: Schema.Number })
const counts = { accepted: Schema.Number, refused: Schema.Number, skipped: Schema.Number, total: Schema.Number }
const both = <S extends Schema.Top>(of: S) => Schema.Struct({ recorded: of, replayed: of })

const Fidelity = Schema.Struct({
  score: Schema.Struct({
    objectsEqual: Schema.NullOr(Schema.Number),
    statesInOrder: Schema.NullOr(Schema.Number),
    gapsWithin: Schema.NullOr(Schema.Number),
    /** Absent from reports of earlier releases, as `pods`. */
    onTime: Schema.optional(Schema.NullOr(Schema.Number)),
    pods: Schema.optional(Schema.NullOr(Schema.Number)),
  }),
  observedMs: Schema.NullOr(Spread),
  pods: Schema.NullOr(
    Schema.Struct({
      created: both(Schema.NullOr(Schema.Number)),
      neverStarted: both(Schema.NullOr(Schema.Number)),
      pendingMs: both(Schema.NullOr(Spread)),
      runningMs: both(Schema.NullOr(Spread)),
    }),
  ),
  timeline: Schema.Struct({
    pods: both(Schema.NullOr(Schema.Record(Schema.String, Schema.Array(Schema.Number)))),
  }),
})

const Report = Schema.Struct({
  replay: Schema.String,
  speed: Schema.Union([Schema.Number, Schema.Literal("max")]),
  startedAt: Schema.String,
  trace: Schema.Struct({ start: Schema.Number, end: Schema.Number }),
  run: Schema.Struct({
    durationMs: Schema.Number,
    expectedMs: Schema.NullOr(Schema.Number),
    delayedMs: Schema.Number,
  }),
  stopped: Schema.NullOr(Schema.String),
  seed: Schema.Struct(counts),
  events: Schema.Struct(counts),
  dispatchErrorMs: Spread,
  lagMs: Spread,
  refused: Schema.Array(Schema.Struct({ gvk: Schema.String, reason: Schema.String, count: Schema.Number })),
})

/** What the recording of the cluster showed, as far as it is compared. Times are ms. */
export type ComparedFidelity = typeof Fidelity.Type

/** One run. */
export interface ComparedReport {
  /** For people: that of its report, with `#2` for the second repetition. */
  readonly name: string
  readonly report: typeof Report.Type
  /** `undefined` if the cluster was not recorded. */
  readonly fidelity: ComparedFidelity | undefined
}

/** One file. */
export interface ReadReport {
  /** For people: unique among those compared. */
  readonly name: string
  /** One for each repetition that has ended; never empty. */
  readonly runs: ReadonlyArray<ComparedReport>
}

/** A file is not a report. Continues "FILE ". */
export class NotAReport extends Schema.TaggedError<NotAReport>()("NotAReport", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

/** The report of one replay, or of one with repetitions. @throws NotAReport */
export const readReport = (name: string, text: string): ReadReport => {
  const value = jsonOf(text)
  if (!isRecord(value) || !("replay" in value && "version" in value))
    throw new NotAReport({ detail: "is not a report of reel replay; write one with --report" })
  if (value.version !== 1)
    throw new NotAReport({ detail: `has version ${String(value.version)}; this release of reel reads version 1` })
  const { repetitions } = value
  if (!Array.isArray(repetitions)) return { name, runs: [runOf(name, value)] }
  if (repetitions.length === 0) throw new NotAReport({ detail: "has no repetition that ended" })
  return { name, runs: repetitions.map((run: unknown, index) => runOf(`${name} #${index + 1}`, run)) }
}

/** @throws NotAReport */
const runOf = (name: string, value: unknown): ComparedReport => {
  const fidelity = isRecord(value) ? value.fidelity : undefined
  const hasFidelity = isRecord(fidelity) && !("unknown" in fidelity)
  return {
    name,
    report: decoded(Report, value),
    fidelity: hasFidelity ? decoded(Fidelity, fidelity) : undefined,
  }
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const decoded = <S extends Schema.Decoder<unknown>>(schema: S, value: unknown): S["Type"] => {
  try {
    return Schema.decodeUnknownSync(schema)(value)
  } catch (error) {
    const [first = "", ...more] = String((error as Error).message).split("\n")
    throw new NotAReport({ detail: `is damaged: ${[first, ...more].map((line) => line.trim()).join(" ")}` })
  }
}

/** Why two reports cannot be compared: they are of different traces, or of different parts of one. `undefined`: they can. */
export const differentTrace = (left: ComparedReport, right: ComparedReport): string | undefined => {
  const [one, other] = [left.report, right.report]
  const isCut = one.stopped !== null || other.stopped !== null
  if (one.trace.start === other.trace.start && (isCut || one.trace.end === other.trace.end)) return undefined
  const spanOf = ({ trace }: typeof one): string =>
    [trace.start, trace.end].map((micros) => new Date(micros / 1000).toISOString()).join(" to ")
  return `${left.name} is of the trace from ${spanOf(one)}, ${right.name} from ${spanOf(other)}`
}
