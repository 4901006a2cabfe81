/** What retention uses of the writer of a recording. */
import type { Gap } from "../../wire/observations.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import type { StateHistory } from "../checkpoints/state-history.ts"
import type { KindTable } from "../rows/kind-table.ts"
import type { OwnerSets } from "../rows/owner-sets.ts"
import type { TrustedDatabase } from "../trusted-database.ts"

/** Lent by the writer, which works between the steps. */
export interface WriterParts {
  readonly directory: string
  readonly database: TrustedDatabase
  readonly kinds: KindTable
  readonly ownerSets: OwnerSets
  readonly source: BlockSource
  readonly history: StateHistory
  /** Whether frames wait for a commit. */
  readonly isPending: () => boolean
  /** Notes a gap, durable with the next commit. */
  readonly noteGap: (gvk: string, gap: Gap) => void
  /** µs since the Unix epoch. */
  readonly now: () => number
}
