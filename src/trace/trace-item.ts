/**
 * The model that every file format decodes to and encodes from: a trace as a sequence of items. NDJSON can represent all of it; other
 * formats represent less, and report what they left out (see format.ts).
 *
 * Order: the header first; then, by time, batches and events; then index and lifecycles. The configuration may be anywhere. A recorder's
 * trace has neither configuration nor batches, index or lifecycles; a SimKube trace has all of them, because it could not be rewritten byte
 * for byte without them.
 */

import type { EventTimes, LateChanges, TraceEvent } from "./event.ts"

/**
 * What was removed from the objects before they were written to the trace.
 * - `none`: nothing; they are as the server sent them
 * - `simkube`: what SimKube's tracer removes (docs/facts/simkube.md#sanitising); deletions are stubs, as in `deleted_objs`
 * - `replay`: what another cluster must decide itself ({@link REMOVED_FOR_REPLAY})
 */
export type Sanitised = "none" | "simkube" | "replay"

/** What `replay` removes (replay-object.ts, generated-fields.ts), in the words shown to people and in the header of a trace. */
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
  "nodes, priorities, token volumes and ephemeral containers of pods",
  "generated selectors and labels of Jobs",
  "cluster IPs and node ports of Services",
  "volumes of PersistentVolumeClaims and UIDs in claimRef of PersistentVolumes",
  "token secrets of ServiceAccounts",
  "annotations that controllers write",
]

/** What SimKube's format omits (sanitise.ts), in the same words. Of metadata only six fields are kept; these are the usual others. */
export const REMOVED_FOR_SIMKUBE: ReadonlyArray<string> = [
  ...REMOVED_FOR_REPLAY,
  "metadata.annotations[deployment.kubernetes.io/revision]",
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
  /** µs since the Unix epoch: `start` inclusive, `end` exclusive. Absent in formats without it (SimKube's). */
  readonly window?: { readonly start: number; readonly end: number }
  /**
   * µs since the Unix epoch: the window as it was requested, of a trace that starts later because the recording does. Pods that its first state has may have
   * ended since then, and their lives are of the trace. Absent: the start of the window.
   */
  readonly livesFrom?: number
  /** Sequence number up to which the recording was exported; 0 if there was no recording. */
  readonly cut: number
  /** Every requested kind, as GVK; empty in formats without it. */
  readonly kinds: ReadonlyArray<string>
  /** Kinds that were not being watched when the export was made, and their state (`forbidden`, `failing`, …). */
  readonly incomplete: ReadonlyArray<IncompletePart>
  /** Changes that may belong to the window and were received later than they happened. Absent: none. */
  readonly late?: ReadonlyArray<LateChanges>
  /** Which times the window and the events have. Absent: when they happened. */
  readonly times?: EventTimes
  /** Lifecycles follow although the trace has no Pods; formats that cannot represent both do not say so. */
  readonly hasLifecycles?: boolean
  /** Absent: `none`. */
  readonly sanitised?: Sanitised
  /** Kinds of which not every change of status in the window was recorded: the status of their objects may be older than the rest. Absent: none. */
  readonly withoutStatus?: ReadonlyArray<string>
  /** UID of namespace kube-system of the recorded cluster. Absent: unknown. */
  readonly clusterUid?: string
}

/** The known part of one pod's life; Unix seconds. */
export type PodLifecycle =
  | { readonly state: "empty" }
  | { readonly state: "running"; readonly start: number }
  | { readonly state: "finished"; readonly start: number; readonly end: number }

/** The pods of one owner, grouped by the hash of their stable spec, each list in order of first observation. */
export interface OwnedLifecycles {
  /** The owner: `apps/v1.Deployment`. */
  readonly gvk: string
  /** The owner: `namespace/name`. */
  readonly owner: string
  readonly pods: ReadonlyMap<bigint, ReadonlyArray<PodLifecycle>>
}

/** SimKube's name of an object: `namespace/name`, or `name` for a cluster-scoped one. */
export const namespacedName = (namespace: string, name: string): string =>
  namespace === "" ? name : `${namespace}/${name}`

/** One item. Bytes in it are valid until the next item is taken. */
export type TraceItem =
  | ({ readonly type: "header" } & TraceHeader)
  /** SimKube's `config` as JSON: the tracked kinds and their settings. Entry order and numbers are those of the file. */
  | { readonly type: "config"; readonly config: Uint8Array }
  /** What follows, up to the next batch, happened at once: first what was applied, then what was deleted. µs since the Unix epoch. */
  | { readonly type: "batch"; readonly time: number }
  | { readonly type: "event"; readonly event: TraceEvent; readonly isSnapshot: boolean }
  /** SimKube's hash of an object's spec: `name` is `namespace/name`, or `name` for a cluster-scoped object. */
  | { readonly type: "index"; readonly gvk: string; readonly name: string; readonly hash: bigint }
  | ({ readonly type: "lifecycles" } & OwnedLifecycles)
