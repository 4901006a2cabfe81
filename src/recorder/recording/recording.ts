/** What exports, forecasts and coverage are made of: the recording of this process, or one in a directory without its recorder. */
import type * as Effect from "effect/Effect"
import type { ExportService } from "../export/service.ts"
import type { KindStatus, KindStatuses } from "../kind-status.ts"
import type { OwnerResolution } from "../owner-resolution.ts"
import type { ReaderService } from "../reader-service.ts"

export interface Recording {
  readonly statuses: Pick<KindStatuses, "all" | "hasAppeared">
  readonly reader: Pick<ReaderService, "ask">
  readonly exports: Pick<ExportService, "start">
  readonly owners: Pick<OwnerResolution, "settle">
  /** Makes durable what was received; returns the sequence number up to which an export is complete. */
  readonly cut: () => Effect.Effect<number, { readonly message: string }>
  /** For when that fails: the sequence number up to which everything is recorded. {@link knownUntil} is set then. */
  readonly committed: () => Effect.Effect<number, { readonly message: string }>
  /** Those of the kinds that are just being listed for the first time: an export has to wait for them. */
  readonly firstLists: (statuses: ReadonlyArray<KindStatus>) => Effect.Effect<ReadonlyArray<string>>
  /**
   * µs since the Unix epoch from which on nothing is known, because the recorder cannot be asked, or cannot write; `undefined`: everything is
   * known up to now.
   */
  readonly knownUntil: number | undefined
  /** Whether it has no recorder any more: what a window has beyond its end is missing, however far in the future. */
  readonly isOver: boolean
}
