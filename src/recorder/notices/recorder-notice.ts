/** What the actors of a recorder tell about themselves, for logs. */
import type { WatcherReport } from "../../actors/watcher/definition.ts"
import type { ActorGaveUp } from "../../runtime/errors.ts"

/** All are rare, except reports of `event`. */
export type RecorderNotice =
  | { readonly type: "kind"; readonly gvk: string; readonly report: WatcherReport }
  /** `gvk`: the kind that it watches. */
  | {
      readonly type: "actor"
      readonly name: string
      readonly gvk?: string
      readonly state: string
      readonly reason: string
    }
  /** `trouble`: why the recording cannot be written, or fresh credentials not be had, now; `undefined` when they can. */
  | { readonly type: "store"; readonly trouble: string | undefined }
  | { readonly type: "credentials"; readonly trouble: string | undefined }
  /** Owners of a kind cannot be asked for; told once per kind and reason. */
  | { readonly type: "owners"; readonly trouble: string }
  | { readonly type: "stopped-kind"; readonly gvk: string; readonly error: ActorGaveUp }
  /** The store could not understand what an actor sent; the actor is ended and goes on from what is recorded. */
  | { readonly type: "refused"; readonly name: string; readonly reason: string }
  /** The recording was closed before the store took this, in words. */
  | { readonly type: "unwritten"; readonly what: string }
