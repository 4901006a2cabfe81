/** The exporter's interface. */
import * as Schema from "effect/Schema"
import { RedactedValues } from "../../kube/offline.ts"
import type { ActorDefinition } from "../../runtime/index.ts"
import { GivenFilters } from "../../trace/index.ts"
import { EventTimes, LateChanges } from "../late-changes.ts"

export interface ExporterConfig {
  /** The data directory; opened read-only. */
  readonly directory: string
  /** Where spools of exports go. Default: the data directory. */
  readonly spoolDirectory?: string
}

/** What the recorder knows of the requested kinds when the export begins. Times are µs since the Unix epoch. */
const RequestedKinds = Schema.Struct({
  nowMicros: Schema.Number,
  /** From when on nothing is known, because the recorder cannot be asked, or cannot write. Default: everything is known up to now. */
  knownUntil: Schema.optionalKey(Schema.Number),
  /** For a window from 0, name also kinds that were noticed only while the recorder ran. Default: false. */
  fromBeginning: Schema.optionalKey(Schema.Boolean),
  parts: Schema.Array(
    Schema.Struct({
      gvk: Schema.String,
      /** Empty: all that is recorded of the kind. */
      namespace: Schema.String,
      /** Of its watch; `detail` says in one sentence why. */
      state: Schema.String,
      detail: Schema.String,
      /** It was not installed when a recorder looked for it first. */
      hasAppeared: Schema.Boolean,
    }),
  ),
})
export type RequestedKinds = typeof RequestedKinds.Type

/** One export. Times are µs since the Unix epoch. */
export const ExportJob = Schema.Struct({
  format: Schema.Literals(["simkube", "ndjson", "kwok", "html"]),
  /** Compression of the whole trace. Default: none. */
  compression: Schema.optionalKey(Schema.Literals(["none", "zstd", "gzip"])),
  /** `replay`: objects sanitised for another cluster, as replay formats always contain them. Default: `none`. */
  sanitise: Schema.optionalKey(Schema.Literals(["none", "replay"])),
  /** Sequence number of the last event to include; from the store. */
  cut: Schema.Number,
  /** Inclusive. */
  fromTime: Schema.Number,
  /** Exclusive. */
  untilTime: Schema.Number,
  /** Which times the window and its events have. Default: when they happened. */
  times: Schema.optionalKey(EventTimes),
  /**
   * Time up to which nothing is missing, as the recorder knows: without changes, the recording itself is only as recent as the last bookmark,
   * and a past window must not depend on that. Default: what the recording says.
   */
  knownUntil: Schema.optionalKey(Schema.Number),
  /** Compiled by the exporter, which rejects invalid ones. */
  filters: GivenFilters,
  /** A program of the transform language, parsed and checked; it is run on what the filters leave. Default: none. */
  program: Schema.optionalKey(Schema.Unknown),
  /** Kinds whose owned objects are left out (`skipOwned`). */
  skipOwned: Schema.Array(Schema.String),
  /** Leave out objects that other objects of the trace own, directly or not. */
  excludeOwned: Schema.Boolean,
  /** Leave out objects that a DaemonSet owns directly. */
  excludeDaemonSetOwned: Schema.Boolean,
  /** Kinds whose objects are all recorded, so that the recording knows their owners. */
  recordedKinds: Schema.Array(Schema.String),
  /** `trackedObjects` in SimKube's form, for the configuration in the trace. */
  trackedObjects: Schema.Unknown,
  /** Kinds besides the tracked ones whose gaps and late changes concern the trace: the lifecycles in it came from their streams. Default: none. */
  podStreams: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Those that are not recorded in all of the window are named in the trace's header. Default: nothing is looked at. */
  requested: Schema.optionalKey(RequestedKinds),
  /** For the trace's header: further kinds, or namespaces of kinds, that are incomplete for reasons other than gaps. */
  incomplete: Schema.Array(
    Schema.Struct({ gvk: Schema.String, namespace: Schema.optionalKey(Schema.String), state: Schema.String }),
  ),
})
export type ExportJob = typeof ExportJob.Type

/** Why the request is rejected. */
export class ExportRefused extends Schema.TaggedError<ExportRefused>()("ExportRefused", {
  /** What to change. */
  message: Schema.String,
  /** `request`: a different request could succeed. `recording`: it cannot be read. `busy`: {@link maximumExports} are running. */
  fault: Schema.Literals(["request", "recording", "busy"]),
}) {}

/**
 * Bytes of one export in flight to its reader: enough that a fast reader never waits for its acknowledgement, and the memory that a stalled
 * reader costs.
 */
export const exportWindowBytes = 1024 * 1024

/**
 * Priority of the thread that exports and of those that run its programs, in `nice` units: recording has precedence. An export takes no longer while a core is free; otherwise
 * it gets a tenth of one.
 */
export const exportNice = 10

/** Concurrent exports. Each has a database connection with its caches and, in SimKube's format, a spool file. */
export const maximumExports = 8

/** A requested kind, or namespace of one, that is incomplete in the trace, and why. */
const IncompleteKind = Schema.Struct({
  gvk: Schema.String,
  /** Empty: all that is recorded of the kind. */
  namespace: Schema.String,
  /**
   * The value in the header and the trace: the state of a kind that is not being watched; `untracked` for a kind that this recorder does
   * not record; `unrecorded` if nothing of the window is recorded; else `recorded-START/END`, RFC 3339: the recorded part.
   */
  state: Schema.String,
  /** One sentence for people, without the names of kind and namespace. */
  fault: Schema.String,
})
export type IncompleteKind = typeof IncompleteKind.Type

/** What is known of a trace before its first byte. */
const StartedTrace = Schema.Struct({
  /** Number of gaps of the recording in the window. */
  gaps: Schema.Number,
  /** Changes in the window that were received later than they happened. */
  late: Schema.Array(LateChanges),
  /** What of the requested kinds is not recorded in all of the window. */
  incomplete: Schema.Array(IncompleteKind),
  /** Tracked kinds that the format cannot represent. */
  leftOut: Schema.Array(Schema.String),
  /** What will go wrong in a replay of the trace, one sentence each. */
  warnings: Schema.Array(Schema.String),
  /** How many values of the requested kinds were replaced in the recording. */
  redacted: Schema.Array(RedactedValues),
})
export type StartedTrace = typeof StartedTrace.Type

const exporterControl = {
  /**
   * Checks the request and starts the export; the trace follows as the frames of the stream, and with its end the number of changes that were
   * left out because they change nothing for a replay, in decimal digits. Closing the stream cancels the export; a slow
   * client delays its own stream and no other.
   */
  export: {
    payload: ExportJob,
    success: StartedTrace,
    error: ExportRefused,
    stream: { windowBytes: exportWindowBytes },
  },
} as const

export type ExporterControl = typeof exporterControl

export const exporterDefinition: ActorDefinition<ExporterConfig, ExporterControl, never> = {
  role: "exporter",
  control: exporterControl,
}
