/** One successful write to a cluster, whatever the log it was read from. */
import type { Client, JsonObject } from "../../trace/index.ts"

/** The verbs that change objects. */
export const writeVerbs = ["create", "update", "patch", "delete", "deletecollection"] as const

/** One of them. */
export type WriteVerb = (typeof writeVerbs)[number]

/** How much of a request is in a log: Kubernetes' own levels, and `unknown` for logs that do not say it. */
export type AuditLevel = "Metadata" | "Request" | "RequestResponse" | "unknown"

/** The resource that was written to. */
export interface AuditedResource {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  /** Plural, lower case: `deployments`. */
  readonly resource: string
}

/** A write with a 2xx response that was no dry run. */
export interface AuditedWrite extends AuditedResource {
  /** µs since the Unix epoch: when the response was complete. */
  readonly time: number
  /** µs since the Unix epoch: when the request was received, if the log says it, else the same. */
  readonly received: number
  /** `undefined`: the log does not say who made the request. */
  readonly author: Client | undefined
  /**
   * The name under which the API server notes the fields that the request changes; `undefined`: the log does not say
   * it.
   */
  readonly fieldManager: string | undefined
  /** Of the request. Empty: the log does not have it. Clients may choose it, so that several requests may have the same one. */
  readonly id: string
  readonly verb: WriteVerb
  /** Empty: of the object itself. */
  readonly subresource: string
  /** Empty: the object is cluster-scoped. */
  readonly namespace: string
  /** Empty: of a collection, or the server made the name. */
  readonly name: string
  /** Of the object, as the reference says it; empty: it does not. */
  readonly uid: string
  readonly level: AuditLevel
  /** Whether the API server left the bodies out because the entry was too long. */
  readonly isTruncated: boolean
  /** Whether the response says that the object is new: 201 instead of 200. */
  readonly isCreation: boolean
  /** Whether a collection was restricted by labels or fields. */
  readonly isSelection: boolean
  readonly request: JsonObject | undefined
  readonly response: JsonObject | undefined
}

/** What an entry of a log is. */
export type AuditEntry =
  | { readonly tag: "write"; readonly write: AuditedWrite }
  /** It changed no object: a read, a failure, a dry run, another stage of a request. `time`: if it says when. */
  | { readonly tag: "no-write"; readonly time: number | undefined }
  /** `found`: what it looks like, or what is wrong with it; never quotes more than names of members. */
  | { readonly tag: "unknown"; readonly found: string }

/** An entry that cannot be read. */
export const unknownEntry = (found: string): AuditEntry => ({ tag: "unknown", found })

/** Subresources whose response is the whole object. */
const wholeSubresources: ReadonlySet<string> = new Set([
  "",
  "status",
  "finalize",
  "approval",
  "ephemeralcontainers",
  "resize",
])

/** Whether a subresource is written as the whole object. */
export const isWholeObject = (subresource: string): boolean => wholeSubresources.has(subresource)

/** Subresources that change their object without being it. */
const effectiveSubresources: ReadonlySet<string> = new Set(["scale", "binding", "eviction"])

/** Groups whose resources are questions to the server, which nothing stores. */
const questionGroups: ReadonlySet<string> = new Set(["authentication.k8s.io", "authorization.k8s.io"])

/** Whether the names can be those of a resource, so that a kind can be made of them. */
export const isResource = ({ group, version, resource }: AuditedResource): boolean =>
  /^[a-z0-9.-]*$/.test(group) && /^[a-z0-9]+$/.test(version) && /^[a-z0-9-]+$/.test(resource)

/** Whether a write to it can change a stored object: not `pods/exec`, `serviceaccounts/token`, or a review of access. */
export const changesObjects = ({ group }: AuditedResource, subresource: string): boolean =>
  !questionGroups.has(group) && (isWholeObject(subresource) || effectiveSubresources.has(subresource))
