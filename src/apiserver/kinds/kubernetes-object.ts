/**
 * Kubernetes objects as the sandbox's control interface takes and returns them: plain JSON, typed only as far as the
 * server itself reads it. Numbers are JavaScript numbers, so integers beyond 2^53 cannot be expressed here.
 */

/** The part of `metadata` that the server reads or writes; everything else passes through untouched. */
export interface ObjectMetadata {
  readonly name: string
  /** Default `default` for namespaced kinds; ignored for cluster-scoped ones. */
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly [key: string]: unknown
}

/** An object as a test passes it in. `apiVersion` and `kind` may be omitted: they follow from the kind it is put under. */
export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMetadata
  readonly [key: string]: unknown
}

/** The object as the server stored it. Shares every subtree that the server did not change with the object passed in. */
export interface StoredObject extends KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMetadata & {
    readonly uid: string
    readonly resourceVersion: string
    /** RFC 3339 with whole seconds, UTC. */
    readonly creationTimestamp: string
    /** Present for objects with a `spec`: 1 at creation, one more with every change of the spec. */
    readonly generation?: number
  }
}
