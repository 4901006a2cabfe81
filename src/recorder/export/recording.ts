/** What exports, forecasts and coverage are made of: the recording of this process, or one in a directory without its recorder. */
import type * as Effect from "effect/Effect"
import type { Settled } from "../../actors/index.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { KindStatus, KindStatuses } from "../status/kind-status.ts"
import type { ReaderService } from "./reader-service.ts"
import type { ExportService } from "./service.ts"

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

/** How far a recording is archived. */
export interface ArchiveStatus {
  readonly address: string
  /** Seconds since everything that had been recorded was in the stream. */
  readonly lagSeconds: number
  /** The last segment that is certain; 0: none is yet. */
  readonly segment: number
  readonly epoch: number
  /** Why nothing can be archived now; absent: it can. */
  readonly trouble?: string
}

/** The same for metrics. */
export interface ArchiveFigures extends ArchiveStatus {
  /** That this process has archived. */
  readonly segments: number
}

export interface Recording {
  readonly statuses: Pick<KindStatuses, "all" | "hasAppeared">
  readonly reader: Pick<ReaderService, "ask" | "query">
  readonly exports: Pick<ExportService, "start">
  /** Waits for the owners in the recording, or for `deadlineMs`; returns those that are still unknown. */
  readonly owners: { readonly settle: (deadlineMs: number) => Effect.Effect<Settled> }
  /** Makes durable what was received, if that is possible now. A full disk is no reason to keep what is on it. */
  readonly reach: () => Effect.Effect<Reach, ExportRefusal>
  /** Those of the kinds that are just being listed for the first time: an export has to wait for them. */
  readonly firstLists: (statuses: ReadonlyArray<KindStatus>) => Effect.Effect<ReadonlyArray<string>>
  /** How far it is archived; absent: it is not. */
  readonly archive?: ArchiveStatus | undefined
  /** Whether it has no recorder any more: what a window has beyond its end is missing, however far in the future. */
  readonly isOver: boolean
}
