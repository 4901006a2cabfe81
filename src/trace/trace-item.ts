/**
 * The model that every file format decodes to and encodes from: a trace as a sequence of items. NDJSON holds all of it;
 * other formats hold less, and say what they left out (see format.ts).
 *
 * Order: the header first; then, in the order of time, batches and events; then index and lifecycles. The configuration
 * stands anywhere. A recorder's trace has neither configuration nor batches, index or lifecycles; a SimKube trace has all of
 * them, because only with them can it be written again byte for byte.
 */

import type { TraceEvent } from "./event.ts"
import type { OwnedLifecycles } from "./formats/simkube/simkube-trace.ts"

/**
 * What was taken out of the objects before they came into the trace.
 * - `none`: nothing; they are as the server sent them
 * - `simkube`: what SimKube's tracer takes out (docs/facts/simkube.md#sanitising), and deletions are what `deleted_objs` holds
 * - `replay`: what another cluster must be free to decide ({@link REMOVED_FOR_REPLAY})
 */
export type Sanitised = "none" | "simkube" | "replay"

/** What `replay` removes, as it is named to people and in the header of a trace. */
export const REMOVED_FOR_REPLAY: ReadonlyArray<string> = [
  "status",
  "metadata.uid",
  "metadata.resourceVersion",
  "metadata.generation",
  "metadata.selfLink",
  "metadata.managedFields",
  "metadata.creationTimestamp",
  "metadata.deletionTimestamp",
  "metadata.deletionGracePeriodSeconds",
  "metadata.finalizers",
  "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
  "metadata.ownerReferences to objects outside the trace",
  "metadata.ownerReferences[*].uid",
  "spec.nodeName of pods without owner in the trace",
]

/** What SimKube's format holds nothing of (sanitise.ts), named likewise. Of metadata only six fields are kept; these are the usual others. */
export const REMOVED_FOR_SIMKUBE: ReadonlyArray<string> = [
  ...REMOVED_FOR_REPLAY.filter((field) => !field.startsWith("spec.nodeName")),
  "metadata.annotations[deployment.kubernetes.io/revision]",
  "spec.nodeName of pods",
]

/** A kind of which a trace lacks something, or one namespace of a kind. */
export interface IncompletePart {
  readonly gvk: string
  /** Absent: all that the trace has of the kind is concerned. */
  readonly namespace?: string
  readonly state: string
}

/** What a trace says of itself as a whole. */
export interface TraceHeader {
  /** µs since the Unix epoch: `start` inclusive, `end` exclusive. Absent where a format does not say it (SimKube's). */
  readonly window?: { readonly start: number; readonly end: number }
  /** Sequence number up to which the recording was exported; 0 where there was no recording. */
  readonly cut: number
  /** Every kind that was asked for, as GVK; empty where a format does not say it. */
  readonly kinds: ReadonlyArray<string>
  /** Kinds that were not being watched when the export was made, and their state (`forbidden`, `failing`, …). */
  readonly incomplete: ReadonlyArray<IncompletePart>
  /** Absent: `none`. */
  readonly sanitised?: Sanitised
}

/** One item. Bytes in it are valid until the next item is taken. */
export type TraceItem =
  | ({ readonly type: "header" } & TraceHeader)
  /** SimKube's `config` as JSON: which kinds were tracked, and how. Entry order and numbers are those of the file. */
  | { readonly type: "config"; readonly config: Uint8Array }
  /** What follows, up to the next batch, happened at once: first what was applied, then what was deleted. µs since the Unix epoch. */
  | { readonly type: "batch"; readonly time: number }
  | { readonly type: "event"; readonly event: TraceEvent; readonly isSnapshot: boolean }
  /** What SimKube keeps of an object's spec: `name` is `namespace/name`, or `name` for a cluster-scoped object. */
  | { readonly type: "index"; readonly gvk: string; readonly name: string; readonly hash: bigint }
  | ({ readonly type: "lifecycles" } & OwnedLifecycles)
