/** What exports, forecasts and coverage are made of: the recording of this process, or one in a directory without its recorder. */
import type * as Effect from "effect/Effect"
import type { ExportRefusal } from "../export/request.ts"
import type { ExportService } from "../export/service.ts"
import type { KindStatus, KindStatuses } from "../kind-status.ts"
import type { OwnerResolution } from "../owner-resolution.ts"
import type { ReaderService } from "../reader-service.ts"

/** Up to where a recording can be read. */
export interface Reach {
  /** Sequence number up to which an export is complete. */
  readonly cut: number
  /**
   * µs since the Unix epoch from which on nothing is known, because the recorder cannot be asked, or cannot write; `undefined`: everything is
   * known up to now.
   */
  readonly knownUntil: number | undefined
}

export interface Recording {
  readonly statuses: Pick<KindStatuses, "all" | "hasAppeared">
  readonly reader: Pick<ReaderService, "ask" | "query">
  readonly exports: Pick<ExportService, "start">
  readonly owners: Pick<OwnerResolution, "settle">
  /** Makes durable what was received, if that is possible now. A full disk is no reason to keep what is on it. */
  readonly reach: () => Effect.Effect<Reach, ExportRefusal>
  /** Those of the kinds that are just being listed for the first time: an export has to wait for them. */
  readonly firstLists: (statuses: ReadonlyArray<KindStatus>) => Effect.Effect<ReadonlyArray<string>>
  /** Whether it has no recorder any more: what a window has beyond its end is missing, however far in the future. */
  readonly isOver: boolean
}
