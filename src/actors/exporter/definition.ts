/** The exporter as others see it. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../runtime/actor.ts"
import { GivenFilters } from "../../trace/selection/filters.ts"

export interface ExporterConfig {
  /** The data directory; opened read-only. */
  readonly directory: string
}

/** One export. Times are µs since the Unix epoch. */
export const ExportJob = Schema.Struct({
  format: Schema.Literals(["simkube", "ndjson", "kwok"]),
  /** Of the whole trace. Default: none. */
  compression: Schema.optionalKey(Schema.Literals(["none", "zstd", "gzip"])),
  /** `replay`: objects as another cluster may be given them, which the formats that are replayed hold anyway. Default: `none`. */
  sanitise: Schema.optionalKey(Schema.Literals(["none", "replay"])),
  /** Sequence number up to which the recording counts; from the store. */
  cut: Schema.Number,
  /** Inclusive. */
  fromTime: Schema.Number,
  /** Exclusive. */
  untilTime: Schema.Number,
  /** Compiled, and refused if invalid, by the exporter. */
  filters: GivenFilters,
  /** Kinds whose owned objects are left out (`skipOwned`). */
  skipOwned: Schema.Array(Schema.String),
  /** Leave out what objects of the trace own, over any number of steps. */
  excludeOwned: Schema.Boolean,
  /** Leave out what a DaemonSet owns directly. */
  excludeDaemonSetOwned: Schema.Boolean,
  /** Kinds all of whose objects are recorded: of those the recording knows who owns them. */
  recordedKinds: Schema.Array(Schema.String),
  /** `trackedObjects` as SimKube writes it, for the trace's own configuration. */
  trackedObjects: Schema.Unknown,
  /** For the trace's header: kinds, or namespaces of them, of which it lacks something besides gaps. */
  incomplete: Schema.Array(
    Schema.Struct({ gvk: Schema.String, namespace: Schema.optionalKey(Schema.String), state: Schema.String }),
  ),
})
export type ExportJob = typeof ExportJob.Type

/** The request cannot be met, and why. */
export class ExportRefused extends Schema.TaggedError<ExportRefused>()("ExportRefused", {
  /** What to change. */
  message: Schema.String,
  /** `request`: another one could be met. `recording`: it cannot be read. `busy`: {@link maximumExports} are under way. */
  fault: Schema.Literals(["request", "recording", "busy"]),
}) {}

/**
 * Bytes of one export that may be on their way to its reader: enough that a quick reader never waits for the answer to what
 * it took, and what a reader that has stopped reading costs.
 */
export const exportWindowBytes = 1024 * 1024

/**
 * Priority of the threads that export, as `nice` counts: whatever records goes first. An export takes no longer while there is
 * a core for it; where there is not, it gets a tenth of one.
 */
export const exportNice = 10

/** Exports under way at once. Each has a database connection with its caches and, in SimKube's format, a spool file. */
export const maximumExports = 8

const exporterControl = {
  /**
   * Checks the request and starts; the trace follows as the frames of the stream. Closing the stream cancels the export, and a stream
   * that its client is slow to take holds it back, and no other.
   */
  export: {
    payload: ExportJob,
    success: Schema.Struct({
      /** Gaps of the recording that lie in the window. */
      gaps: Schema.Number,
      /** Tracked kinds that the format cannot tell of. */
      leftOut: Schema.Array(Schema.String),
    }),
    error: ExportRefused,
    stream: { windowBytes: exportWindowBytes },
  },
} as const

export type ExporterControl = typeof exporterControl

export const exporterDefinition: ActorDefinition<ExporterConfig, ExporterControl, never> = {
  role: "exporter",
  control: exporterControl,
}
