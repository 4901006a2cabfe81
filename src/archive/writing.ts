/** How a recording is opened for writing, and what its writer returns for frames and commits. */
import type { LockHolder } from "./directory/directory-lock.ts"
import type { FileSystemTypeOf } from "./directory/network-filesystem.ts"
import type { RetentionSizes } from "./retention/retention.ts"
import type { LostBeginning } from "./rows/metadata.ts"
import type { NamedOwner } from "./rows/owner-sets.ts"
import type { FsyncMode } from "./schema.ts"
import type { Acknowledgement } from "./sender-ledger.ts"

/** How a recording is opened for writing. Every default suits `reel record`. */
export interface ArchiveWriterOptions {
  /** Default `interval`: call `ArchiveWriter.sync` each second; a power failure loses at most that second. */
  readonly fsync?: FsyncMode
  /** Upper limit of the database file; commits beyond it fail with DiskFullError. Default: none. */
  readonly maximumBytes?: number
  /** For a new recording in the place of another: what is known of that. Default: no other was lost. */
  readonly lostBeginning?: LostBeginning | undefined
  /** For a new recording in the place of another: frames of lives up to this number are fenced. Default: none are. */
  readonly incarnationsAbove?: number
  /** µs since the Unix epoch. Default: the system's clock. */
  readonly now?: () => number
  /** Content of the lock's side file. Default: this process. */
  readonly holder?: LockHolder
  /** Default: statfs(2). */
  readonly fileSystemTypeOf?: FileSystemTypeOf
  /** When blocks are sealed and checkpoints written; smaller values give small tests many of them. */
  readonly limits?: Partial<ArchiveLimits>
  /** Kinds whose objects are all recorded, so that their owners need no look-up. Default: none. */
  readonly recordedKinds?: ReadonlyArray<string>
}

/** Sizes that shape a recording; readers need not know them. */
interface ArchiveLimits {
  /** Bytes of objects after which a block is sealed. Default `BLOCK_BYTES`, 1 MiB. */
  readonly blockBytes: number
  /** Blocks holding a kind between two of its checkpoints. Default `BLOCKS_PER_CHECKPOINT`. */
  readonly blocksPerCheckpoint: number
  /** Events for each object alive between two of its checkpoints. Default `EVENTS_PER_OBJECT`. */
  readonly eventsPerObject: number
  /** What is removed at once. */
  readonly retention: Partial<RetentionSizes>
}

/** The result for a frame. `fenced`: its sender has a successor; the frame was dropped and will never be acknowledged. */
export type AppendResult = "appended" | "duplicate" | "fenced"

/** The result of a commit. */
export interface CommitResult {
  /** The last durable frame of every sender with frames since the previous commit. */
  readonly acknowledgements: ReadonlyArray<Acknowledgement>
  /** Events and gaps made durable. */
  readonly events: number
  /** Bytes of the frames made durable, as they arrived. */
  readonly bytes: number
  /** Blocks sealed. */
  readonly blocks: number
  /** Sequence number of the last durable event. */
  readonly cut: number
  /** Owners named by the objects and pods in it whose kinds are not recorded whole. */
  readonly namedOwners: ReadonlyArray<NamedOwner>
}
