/**
 * The port by which the recorder asks what a reader may read now. The API server decides; nothing of RBAC is known here.
 *
 * Everything that shows recorded objects to whom may not export uses it, so that a reader sees through the recorder no object that the API server would not show: what
 * may be read in a namespace now may be read of its past.
 */
import type { ReviewedUser } from "../../kube/access/reviews.ts"

/** What is to be read. */
export interface ReadAction {
  readonly verb: "get" | "list"
  /** Empty: the core group. */
  readonly group: string
  /** `deployments`. */
  readonly resource: string
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string
  /** The only object, for `get`. Absent: all. */
  readonly name?: string
}

/**
 * Whether the identity may do that now. Rejects with ReviewFailed if the API server cannot say; what is not decided must not be shown. Decisions may be some
 * seconds old.
 */
export type MayRead = (identity: ReviewedUser, action: ReadAction) => Promise<boolean>

/** A client whose rights decide what it is shown. */
export interface Reader {
  readonly identity: ReviewedUser
  readonly mayRead: MayRead
}
