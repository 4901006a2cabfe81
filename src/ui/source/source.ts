/**
 * Where the page gets everything that it shows: a server's HTTP interface, or the file that the page is in. Times are µs since the Unix epoch. Every method
 * rejects with a SourceError, or with the reason of its signal.
 */

import type { Finding, Lack, Lane, LaneObject, Part } from "../../timeline/index.ts"

/** A stretch of time, both ends inclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What is shown of a recording. Absent members: everything. */
export interface LaneFilter {
  readonly kinds?: ReadonlyArray<string>
  readonly namespace?: string
  /** A part of a name. */
  readonly find?: string
}

/** One of the kinds of a recording. */
interface ShownKind {
  readonly gvk: string
  /** From when to when it is recorded; 0 as `since`: its first list is not complete. */
  readonly since: number
  readonly until: number
  readonly namespaced: boolean
}

export interface Overview {
  /** What is looked at, for the title: a directory, a file, a recorder's address. */
  readonly name: string
  readonly kinds: ReadonlyArray<ShownKind>
  /** From when to when anything is known. */
  readonly span: Span
  /** Whether the recording goes on: its end is now. */
  readonly isLive: boolean
  readonly lacks: ReadonlyArray<Lack>
  /** The pin that is looked at; of the recording around it there may be nothing any more. */
  readonly pin?: Pin
}

/** Lanes below one lane. */
export interface LanePage {
  /** Of all pages. */
  readonly total: number
  readonly lanes: ReadonlyArray<Lane>
  /** What is missing of the window, of whatever kind and namespace; absent: it was not asked. */
  readonly lacks?: ReadonlyArray<Lack>
  /** Absent: the reader may read everything. What is left out has no lanes. */
  readonly leftOut?: LeftOut
}

/** What a reader may not read, by kinds. */
export interface LeftOut {
  /** Of which nothing is shown. */
  readonly kinds: ReadonlyArray<string>
  /** The only ones of which objects of some other kinds are shown. Empty: no kind is shown in part. */
  readonly namespaces: ReadonlyArray<string>
}

/** A row of the time line, drawn. */
export interface LaneTile {
  readonly lane: string
  /** Of a row below the object; absent: the object itself. */
  readonly part?: Part
  /** A byte for each column, as `timeline/tile.ts` says. */
  readonly columns: Uint8Array
  /** Changes within the span. */
  readonly changes: number
}

/** A field that differs. `undefined`: absent. */
export interface FieldChange {
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Who wrote, as the object's managedFields say. */
export interface Manager {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
}

/** Who wrote, as the API server's audit log says. */
export interface Author {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly userAgent: string
  readonly sourceIPs: ReadonlyArray<string>
  readonly verb: string
  /** Of the request in that log; empty: not known. */
  readonly auditID: string
  /** Whether only times say that it was this request. */
  readonly isInferred: boolean
}

/** One change of one object. */
export interface ObjectChange {
  readonly type: "created" | "appeared" | "changed" | "deleted" | "vanished"
  readonly object: LaneObject
  readonly resourceVersion: string
  readonly time: number
  readonly sequence: number
  readonly managers: ReadonlyArray<Manager>
  readonly author?: Author
  readonly differences: ReadonlyArray<FieldChange>
  readonly hasMoreDifferences: boolean
  /** What a Kubernetes Event says. */
  readonly event?: {
    readonly type: string
    readonly reason: string
    readonly message: string
    readonly about: string
    readonly source: string
  }
  /** The object afterwards; absent of one that vanished. */
  readonly state?: Readonly<Record<string, unknown>>
}

/** A window that is kept. `until` is exclusive. */
export interface Pin {
  readonly id: string
  readonly from: number
  readonly until: number
  readonly note: string
  /** Whether an alert made it. */
  readonly isAlert: boolean
  /** Whether a part of it had been removed before it was kept. */
  readonly isLost: boolean
  /** What is to be known of its alert; empty: nothing. */
  readonly alert: string
}

/** Where pins are kept. */
export interface PinSource {
  /** `undefined`: this recording keeps none, or the reader may not see them. */
  readonly list: (signal: AbortSignal) => Promise<ReadonlyArray<Pin> | undefined>
  readonly add: (pin: Pick<Pin, "from" | "until" | "note">, signal: AbortSignal) => Promise<void>
  readonly remove: (id: string, signal: AbortSignal) => Promise<void>
  /** Of the page that shows the pin, as long as there is the pin. */
  readonly address: (id: string) => string
}

/** Where the page gets what it shows. */
export interface HistorySource {
  readonly overview: (signal: AbortSignal) => Promise<Overview>
  /** Lanes below a lane, or namespaces; those of objects that existed at some moment of the span, whether they changed or not. */
  readonly lanes: (
    asked: Span & LaneFilter & { readonly parent?: string; readonly offset: number; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<LanePage>
  /** The lane of an object, and the ids of the lanes above it, outermost first; `undefined`: there is none in the span. */
  readonly laneOf: (
    asked: Span & Pick<LaneObject, "gvk" | "namespace" | "name"> & { readonly uid?: string },
    signal: AbortSignal,
  ) => Promise<{ readonly lane: Lane; readonly above: ReadonlyArray<string> } | undefined>
  /** Calls `each` for every row as it becomes known. `parts`: also the rows below each object. */
  readonly tiles: (
    asked: Span & {
      readonly width: number
      readonly lanes: ReadonlyArray<string>
      readonly parts: boolean
      readonly namespace?: string
    },
    each: (tile: LaneTile) => void,
    signal: AbortSignal,
  ) => Promise<void>
  /** Changes in each of `width` equal parts of the span. */
  readonly histogram: (
    asked: Span & LaneFilter & { readonly width: number },
    signal: AbortSignal,
  ) => Promise<Float64Array>
  /** Calls `each` for every finding as it is found, not in order; `progress`: the part of the work that is done, 0 to 1. */
  readonly findings: (
    asked: Span & LaneFilter,
    each: (finding: Finding | { readonly progress: number }) => void,
    signal: AbortSignal,
  ) => Promise<void>
  /** The changes of an object in the span, in order, with what it owned or its owners, and Events about them, where that is asked for. */
  readonly changes: (
    asked: Span & {
      readonly object: LaneObject
      readonly owned: boolean
      readonly owners: boolean
      readonly withStates: boolean
    },
    each: (change: ObjectChange) => void,
    signal: AbortSignal,
  ) => Promise<{ readonly lacks: ReadonlyArray<Lack> }>
  /** An object as it was; `undefined`: it did not exist. */
  readonly stateAt: (
    object: LaneObject,
    time: number,
    signal: AbortSignal,
  ) => Promise<{ readonly state: Readonly<Record<string, unknown>>; readonly time: number } | undefined>
  /** Objects that differ between two moments. */
  readonly differences: (
    asked: Span & LaneFilter,
    each: (difference: {
      readonly type: "created" | "changed" | "deleted" | "replaced"
      readonly object: Omit<LaneObject, "uid">
      readonly managers: ReadonlyArray<Manager>
      readonly differences: ReadonlyArray<FieldChange>
    }) => void,
    signal: AbortSignal,
  ) => Promise<void>
  /** Absent: the source keeps no pins. */
  readonly pins?: PinSource
}

/** A cluster, or a shard of one, between which the page switches. */
export interface ListedCluster {
  readonly name: string
  /** s since what is recorded of it ends; `undefined`: not known, yet. */
  readonly lag: number | undefined
  /** As far as they are known without opening it. */
  readonly gaps: number
  /** Why it cannot be read; empty: nothing is known of that. */
  readonly trouble: string
}

/** Where the page gets the clusters, of which it shows one at a time. */
export interface ClusterSource {
  /** `isComplete`: it is known how each is doing. */
  readonly list: (
    signal: AbortSignal,
  ) => Promise<{ readonly clusters: ReadonlyArray<ListedCluster>; readonly isComplete: boolean }>
  readonly of: (name: string) => HistorySource
}

/** Why a source could not answer. */
export class SourceError extends Error {
  override readonly name = "SourceError"
  /**
   * `unauthorized`: a token is needed, or a better one. `forbidden`: the reader may not see it. `busy`: later. `refused`: the question is wrong. `failed`:
   * everything else, such as no connection.
   */
  readonly code: "unauthorized" | "forbidden" | "busy" | "refused" | "failed"

  constructor(code: SourceError["code"], message: string) {
    super(message)
    this.code = code
  }
}
