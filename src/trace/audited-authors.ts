/** Who wrote, as an audit log says it: the model that logs, recordings and answers share. */

/** Who made a request. Texts come from clients, and are cut at some length. */
export interface Author {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly userAgent: string
  readonly sourceIPs: ReadonlyArray<string>
  /** The user as whom the request was made, by `user`. */
  readonly impersonated?: string
}

/**
 * What a request did to its object. `wrote`: it led to a version. The others have none: `bound` a pod to a node, `removed` the object for good.
 */
export const writeEffects = ["wrote", "bound", "removed"] as const

/** One of them. */
export type WriteEffect = (typeof writeEffects)[number]

/** One successful write, of which the log says to which object it was made. */
export interface AuthoredWrite {
  /** Of the resource; empty: the core group. */
  readonly group: string
  /** `deployments`. */
  readonly resource: string
  readonly uid: string
  readonly effect: WriteEffect
  /** The version that it led to; empty for other effects. */
  readonly version: string
  /** False if the request may have changed nothing, so that the version is that of an earlier one. */
  readonly isCertain: boolean
  /** `patch`, or with a subresource `patch status`. */
  readonly action: string
  /** µs since the Unix epoch on the API server's clock: when the request was received, and when its response was complete. */
  readonly received: number
  readonly completed: number
  readonly author: Author
}
