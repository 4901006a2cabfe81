/** What the actors of a recorder report about themselves, for the log. */
import type { ArchivistReport, WatcherReport } from "../../actors/index.ts"
import type { ActorGaveUp } from "../../runtime/index.ts"
import type { RedactionKeyNotice } from "../redaction/redaction-key.ts"

export interface ArchiveNotice {
  readonly type: "archive"
  /** Why nothing can be archived, or restored, now; `undefined` when it can. */
  readonly trouble: string | undefined
  /** What goes on all the same. `starting`: recording begins soon, without knowing the stream. `restoring`: nothing is recorded until it is restored. */
  readonly meanwhile: "starting" | "restoring" | "recording"
}

/** All are rare, except reports of `event`. */
export type RecorderNotice =
  | { readonly type: "kind"; readonly gvk: string; readonly report: WatcherReport }
  /** `gvk`: the kind that the actor watches. */
  | {
      readonly type: "actor"
      readonly name: string
      readonly gvk?: string
      readonly state: string
      readonly reason: string
    }
  /**
   * `trouble`: why the recording cannot be written now; `undefined` when it can. `isCertain`: the store says so itself; otherwise it is only
   * silent, or its disk slow.
   */
  | { readonly type: "store"; readonly trouble: string | undefined; readonly isCertain: boolean }
  /** `trouble`: why the credentials cannot be refreshed now; `undefined` when they can. */
  | { readonly type: "credentials"; readonly trouble: string | undefined }
  /** What was recorded is not on the disk any more; everything starts again from what is. */
  | { readonly type: "distrusted"; readonly reason: string }
  /** A damaged recording was moved to `path`, and a new one was begun. */
  | { readonly type: "set-aside"; readonly path: string; readonly reason: string }
  /** Other users have access to the recording's files. */
  | { readonly type: "exposed"; readonly message: string }
  /** `trouble`: why the beginning of the recording cannot be removed, although its time is up; `undefined` when it can. */
  | { readonly type: "retention"; readonly trouble: string | undefined }
  | ArchiveNotice
  /** How far a stream has been restored into the directory, before anything is recorded. */
  | ({ readonly type: "restoring"; readonly address: string } & ArchivistReport)
  /**
   * A stream is continued after this segment. `setAside`: where the recording is that was in the directory; the empty string: there was none. `lostBlocks`: those that
   * were damaged when they were archived.
   */
  | {
      readonly type: "restored"
      readonly segment: number
      readonly epoch: number
      readonly setAside: string
      readonly lostBlocks: number
    }
  /** Owners of a kind cannot be looked up; reported once per kind and reason. */
  | { readonly type: "owners"; readonly trouble: string }
  | { readonly type: "stopped-kind"; readonly gvk: string; readonly error: ActorGaveUp }
  /** The store could not decode a message; its sender is ended and resumes from the recorded state. */
  | { readonly type: "refused"; readonly name: string; readonly reason: string }
  /** Watchers were placed in other threads, and why. */
  | { readonly type: "placement"; readonly sentence: string }
  /** The recording was closed before the store took this write, which `what` describes. */
  | { readonly type: "unwritten"; readonly what: string }
  | RedactionKeyNotice
