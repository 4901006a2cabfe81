/**
 * What a **delta** of a recording is: the rows that a copy lacks which has everything up to a position. Deltas that are applied in order to an empty
 * directory make a recording that answers every question as the original does.
 *
 * A delta is read in one transaction, so a whole one is the recording as it was at one moment. One that would be too large is cut: those before the last
 * are **partial**, and mean nothing until the whole one that ends them is there.
 *
 * Blocks are sent byte for byte, also the parts of the open block. The block that they are sealed into is sent later, and takes their place, as it does
 * in the recording itself. So nothing waits for a block to be full, and a recording that is sent is written as any other.
 */

import { AUDITED_KEY } from "../rows/author-rows.ts"
import { discoveryKey } from "../rows/discovery.ts"
import { FIRST_LISTS_KEY, LOST_BEGINNING_KEY, RECORDER_KEY, REDACTED_KEY } from "../rows/metadata.ts"

/** How far a copy has a recording. As JSON it is kept with what was sent. */
export interface Position {
  /** Blocks and gaps up to this sequence number have been sent, and with a whole delta everything. 0: nothing. */
  readonly sequence: number
  /**
   * Up to here they have been sent in their last form: after it, a block may still take the place of parts. Retention and merging may change
   * blocks up to here, and no others.
   */
  readonly sealedThrough: number
  /** Changes of pods' lives up to this sequence number. */
  readonly lives: number
  /** By the recording's number of a kind, the last of its objects. */
  readonly objects: Readonly<Record<string, number>>
  readonly ownerSets: number
  readonly pods: number
  /** The last batch of audited writes; −1: none, also of those that were added before batches were counted. */
  readonly writes: number
}

/** Of an empty copy. */
export const fromTheBeginning: Position = {
  ...{ sequence: 0, sealedThrough: 0, lives: 0, objects: {}, ownerSets: 0, pods: 0, writes: -1 },
}

/** The tables of which rows are sent, in the order in which they are applied. What a sender of frames has sent is no part of a recording's history. */
export const shippedTables = [
  ...["block", "block_kind", "checkpoint", "retained", "gap", "late_range"],
  ...["object", "former_owner_set", "owner_set", "owner", "pod", "pod_life", "author", "audited_write"],
  ...["kind", "kind_namespace", "metadata"],
] as const

export type ShippedTable = (typeof shippedTables)[number]

/** Columns with BLOBs. */
export const blobsOf = (table: ShippedTable): ReadonlyArray<string> =>
  table === "block" ? ["toc", "data"] : table === "checkpoint" ? ["states"] : []

/**
 * Keys of the metadata that are sent. All others are of one process or one directory, or a secret that someone may keep there: a key that is not
 * listed is not sent.
 */
export const shippedKeys: ReadonlyArray<string> = [
  ...["clusterUid", RECORDER_KEY, discoveryKey, FIRST_LISTS_KEY, REDACTED_KEY, LOST_BEGINNING_KEY, AUDITED_KEY],
]

/** A value of a column without a BLOB. Integers that no number represents are texts, which SQLite stores as the same integers. */
export type ShippedValue = string | number | null

/** A row with the columns of its table in their order, and its BLOBs. */
export interface DeltaRow {
  readonly table: ShippedTable
  readonly values: ReadonlyArray<ShippedValue>
  readonly blobs: ReadonlyArray<Uint8Array>
}

/** What a delta has of one kind. Times are µs since the Unix epoch, 0 where there is no event. */
export interface DeltaKind {
  readonly gvk: string
  readonly events: number
  readonly gaps: number
  readonly fromTime: number
  readonly toTime: number
  /** Resource versions of the first and the last event; empty where blocks have been merged, and without events. */
  readonly firstVersion: string
  readonly lastVersion: string
}

/** What a delta is, without its rows. */
export interface Delta {
  /** Of the recording's tables. */
  readonly recordingFormat: number
  /** It has what came after this sequence number, and up to this one. */
  readonly after: number
  readonly through: number
  /** False: it is partial. */
  readonly isWhole: boolean
  /** Of a copy that has it. */
  readonly position: Position
  /** Those with events or gaps, in the order of their numbers. */
  readonly kinds: ReadonlyArray<DeltaKind>
  /** Rows besides those that every whole delta has. */
  readonly rows: number
}
