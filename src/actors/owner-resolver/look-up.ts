/**
 * One look-up at the API server: who owns the object with this UID?
 *
 * Requests only the metadata, by name, and compares the UID: an object that has reused the name is not the answer (SimKube does not
 * compare: docs/facts/simkube.md#owner-chain). Never rejects; an outcome states the scope of a failure, so that one forbidden kind is not
 * requested ten thousand times.
 */

import type { Timers } from "../../clock.ts"
import {
  type ApiResource,
  type ApiStatus,
  describeFailure,
  discover,
  type HttpClient,
  objectPath,
  type RequestFailure,
  readStatus,
  requestOnce,
  statusOfResponse,
} from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import type { OwnerQuestion } from "../../wire/index.ts"

export type LookUpOutcome =
  /** `namespace` is the empty string for a cluster-scoped owner; `ownerReferences` is JSON, empty if there are none. */
  | { readonly tag: "found"; readonly namespace: string; readonly ownerReferences: Uint8Array }
  /** No object with that UID exists (any more), or its kind does not. */
  | { readonly tag: "gone"; readonly namespace: string }
  | {
      readonly tag: "failed"
      /** The scope in which other look-ups would fail the same way. */
      readonly reach: "question" | "kind" | "server"
      readonly detail: string
      /** HTTP status, 0 without a response. */
      readonly code: number
      /** ms that the server asks us to wait. */
      readonly retryAfterMs: number | undefined
    }

/** Bytes of a response. An object's metadata is bounded by etcd's 1.5 MiB. */
const maximumBytes = 2 * 1024 * 1024

const metadataOnly = {
  Accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9",
}

const noReferences = new Uint8Array(0)

export class OwnerLookUp {
  readonly #client: Pick<HttpClient, "get">
  readonly #deadlineMs: number
  readonly #timers: Timers | undefined
  readonly #resources = new Map<string, Promise<ApiResource | LookUpOutcome>>()

  /** `deadlineMs`: for one response. */
  constructor(client: Pick<HttpClient, "get">, deadlineMs: number, timers?: Timers) {
    this.#client = client
    this.#deadlineMs = deadlineMs
    this.#timers = timers
  }

  async ask(question: OwnerQuestion): Promise<LookUpOutcome> {
    if (!canBeName(question.name)) return { tag: "gone", namespace: question.namespace }
    return this.#ask(question, true)
  }

  /** `mayMove`: the kind is discovered again if it is not at its former path. */
  async #ask(question: OwnerQuestion, mayMove: boolean): Promise<LookUpOutcome> {
    const finding = this.#resourceOf(question.gvk)
    const resource = await finding
    if ("tag" in resource) return resource
    const namespace = resource.namespaced ? question.namespace : ""
    // Without its namespace, the path of a namespaced object would be of another kind.
    if (resource.namespaced && namespace === "") return { tag: "gone", namespace }
    const path = objectPath(resource, namespace, question.name)
    const answer = await requestOnce(this.#client, path, { ...this.#options, headers: metadataOnly, maximumBytes })
    if (answer.tag !== "response") return unanswered(answer)
    if (answer.status === 404) {
      if (isAboutObject(answer.body)) return { tag: "gone", namespace }
      // The kind is not at this path any more. Only discovery can tell whether it exists, and only a kind that does not exist has no
      // objects.
      if (this.#resources.get(question.gvk) === finding) this.#resources.delete(question.gvk)
      if (mayMove) return this.#ask(question, false)
    }
    if (answer.status !== 200) return refused(path, statusOfResponse(answer.status, answer.headers, answer.body))
    const metadata = metadataOf(answer.body)
    if (typeof metadata?.uid !== "string") {
      return {
        tag: "failed",
        reach: "question",
        detail: `${path}: the response contains no object`,
        code: 200,
        retryAfterMs: undefined,
      }
    }
    if (metadata.uid !== question.uid) return { tag: "gone", namespace }
    const { ownerReferences } = metadata
    const isOwned = Array.isArray(ownerReferences) && ownerReferences.length > 0
    return {
      tag: "found",
      namespace,
      ownerReferences: isOwned ? Buffer.from(JSON.stringify(ownerReferences)) : noReferences,
    }
  }

  get #options() {
    return { deadlineMs: this.#deadlineMs, ...(this.#timers !== undefined && { timers: this.#timers }) }
  }

  /** The path of a kind's objects: concurrent look-ups share one discovery, and only successes are cached. */
  #resourceOf(gvkText: string): Promise<ApiResource | LookUpOutcome> {
    const known = this.#resources.get(gvkText)
    if (known !== undefined) return known
    const finding = this.#discover(gvkText).then((found) => {
      if ("tag" in found) this.#resources.delete(gvkText)
      return found
    })
    this.#resources.set(gvkText, finding)
    return finding
  }

  async #discover(gvkText: string): Promise<ApiResource | LookUpOutcome> {
    const gvk = parseGvk(gvkText)
    // ownerReferences are validated only to be strings: such a kind cannot exist.
    if (gvk === undefined) return { tag: "gone", namespace: "" }
    const outcome = await discover(this.#client, gvk, this.#options)
    switch (outcome.tag) {
      case "found":
        return outcome.resource
      case "absent":
        return { tag: "gone", namespace: "" }
      case "unreachable":
        return unanswered(outcome.failure)
      case "failed": {
        const { code, message } = outcome.status
        const detail = `discovery of ${gvkText}: ${message}`
        return { tag: "failed", reach: reachOf(outcome.status, "kind"), detail, code, ...waitOf(outcome.status) }
      }
    }
  }
}

/**
 * Names in ownerReferences are not validated. A name that is not a path segment (apimachinery's IsValidPathSegmentName) cannot belong to an
 * object, and the server would take it for another path, such as that of the collection.
 */
const canBeName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name)

/**
 * Failures of credentials and overload concern everything. A server error may be limited to one kind: its conversion webhook returns 500,
 * its aggregated server 503; only a response with Retry-After concerns all kinds.
 */
const reachOf = ({ code, retryAfterSeconds }: ApiStatus, otherwise: "question" | "kind") => {
  if (code === 401 || code === 429) return "server"
  if (code >= 500) return retryAfterSeconds === undefined ? "kind" : "server"
  return code === 403 || code === 404 ? "kind" : otherwise
}

const refused = (path: string, status: ApiStatus): LookUpOutcome => ({
  tag: "failed",
  reach: reachOf(status, "question"),
  detail: `${path}: ${status.message}`,
  code: status.code,
  ...waitOf(status),
})

/** Whether a 404 comes from the API server and is about an object; a 404 about a path is a Status too, or comes from a proxy. */
const isAboutObject = (body: Buffer): boolean => {
  const status = readStatus(body, 404)
  return status !== undefined && status.message !== "the server could not find the requested resource"
}

const waitOf = ({ retryAfterSeconds }: ApiStatus): { readonly retryAfterMs: number | undefined } => ({
  retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
})

/** No complete response. Silence may be that of an aggregated server, which concerns one kind. */
const unanswered = (failure: RequestFailure): LookUpOutcome => ({
  tag: "failed",
  reach: ({ "too-large": "question", deadline: "kind", failed: "server" } as const)[failure.tag],
  detail: describeFailure(failure),
  code: 0,
  retryAfterMs: undefined,
})

const metadataOf = (body: Buffer): { readonly uid?: unknown; readonly ownerReferences?: unknown } | undefined => {
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"))
    const metadata = (parsed as { metadata?: unknown } | null)?.metadata
    return typeof metadata === "object" && metadata !== null ? metadata : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
