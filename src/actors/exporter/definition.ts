/** The exporter as others see it. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../runtime/actor.ts"

export interface ExporterConfig {
  /** The data directory; opened read-only. */
  readonly directory: string
}

/** One export. Times are µs since the Unix epoch. */
export const ExportJob = Schema.Struct({
  /** Named by the requester; unique in its life. */
  export: Schema.Number,
  format: Schema.Literals(["simkube", "ndjson"]),
  /** Sequence number up to which the recording counts; from the store. */
  cut: Schema.Number,
  /** Inclusive. */
  fromTime: Schema.Number,
  /** Exclusive. */
  untilTime: Schema.Number,
  excludedNamespaces: Schema.Array(Schema.String),
  /** LabelSelectors as JSON; compiled, and refused if invalid, by the exporter. */
  excludedLabels: Schema.Array(Schema.Unknown),
  /** Kinds whose owned objects are left out (`skipOwned`). */
  skipOwned: Schema.Array(Schema.String),
  /** `trackedObjects` as SimKube writes it, for the trace's own configuration. */
  trackedObjects: Schema.Unknown,
  /** `gvk` → state, of kinds that are not being watched now. */
  incomplete: Schema.Record(Schema.String, Schema.String)
})
export type ExportJob = typeof ExportJob.Type

/** The request cannot be met, and why. */
export class ExportRefused extends Schema.TaggedError<ExportRefused>()("ExportRefused", {
  /** What to change. */
  message: Schema.String
}) {}

export const exporterControl = {
  /**
   * Checks the request and starts; the trace follows as frames of the `export-chunks` mailbox. Answers how many gaps of the
   * recording lie in the window.
   */
  start: { payload: ExportJob, success: Schema.Struct({ gaps: Schema.Number }), error: ExportRefused },
  /** Gives an export up; unknown numbers are ignored. */
  cancel: { payload: Schema.Number, success: Schema.Void, error: Schema.Never }
} as const

export type ExporterControl = typeof exporterControl

export const exporterDefinition: ActorDefinition<ExporterConfig, ExporterControl, never> = {
  role: "exporter",
  control: exporterControl
}
