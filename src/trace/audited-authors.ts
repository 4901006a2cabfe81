/** Who wrote, as an audit log says it: the model that logs, recordings and answers share. */

/** Who makes requests. Texts come from clients, and are cut at some length. */
export interface Client {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly userAgent: string
  readonly sourceIPs: ReadonlyArray<string>
  /** The user as whom the request was made, by `user`. */
  readonly impersonated?: string
}

/** Who made a request, and what kind of request it was. */
export interface Author extends Client {
  readonly verb: string
  /** Absent: the object itself was written. */
  readonly subresource?: string
  /** The name under which the API server notes the fields that it changes. Absent: the log does not say it. */
  readonly fieldManager?: string
}

/**
 * What a request did. `wrote`: it led to a version of its object. The others have none: `bound` a pod to a node,
 * `removed` the object for good. `requested`: the log does not say more than the name of the object.
 */
export const writeEffects = ["wrote", "bound", "removed", "requested"] as const

/** One of them. */
export type WriteEffect = (typeof writeEffects)[number]

/** One successful write, of which the log says to which object it was made. */
export interface AuthoredWrite {
  /** Of the resource; empty: the core group. */
  readonly group: string
  /** `deployments`. */
  readonly resource: string
  /** The UID; of `requested`, namespace and name as {@link requestedObject} has them. */
  readonly object: string
  readonly effect: WriteEffect
  /** The version that it led to; empty for other effects. */
  readonly version: string
  /**
   * False if the request may have changed nothing, so that the version is that of an earlier one. Of `requested`:
   * whether it made the object, or was a deletion of all objects of the namespace.
   */
  readonly isCertain: boolean
  /** Of the request in its log; empty: it has none. */
  readonly auditID: string
  /** µs since the Unix epoch on the API server's clock: when the request was received, and when its response was complete. */
  readonly received: number
  readonly completed: number
  readonly author: Author
}

/**
 * What a request without UID was made to. Both may be empty: of a cluster-scoped object, and of all objects of a
 * namespace.
 */
export const requestedObject = (namespace: string, name: string): string => `${namespace}/${name}`
