/**
 * One question put to the API server: who owns the object of this UID?
 *
 * Asks for the metadata only, by name, and compares the UID: a name that was given to another object since is no answer
 * (SimKube does not compare: docs/facts/simkube.md#owner-chain). Never rejects; an outcome says how far a failure reaches, so that one
 * forbidden kind is not asked about ten thousand times.
 */

import type { Timers } from "../../clock.ts"
import { type ApiResource, discover } from "../../kube/discovery.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { HttpClient } from "../../kube/http/http-client.ts"
import { describeFailure, type RequestFailure, requestOnce } from "../../kube/http/request-once.ts"
import { objectPath } from "../../kube/kind.ts"
import { type ApiStatus, readStatus, statusOfResponse } from "../../kube/status.ts"
import type { OwnerQuestion } from "../../wire/owner-messages.ts"

export type LookUpOutcome =
  /** `namespace` is the empty string for a cluster-scoped owner; `ownerReferences` is JSON, empty when there are none. */
  | { readonly tag: "found"; readonly namespace: string; readonly ownerReferences: Uint8Array }
  /** No object of that UID exists (any more), or its kind does not. */
  | { readonly tag: "gone"; readonly namespace: string }
  | {
      readonly tag: "failed"
      /** How much else would fail the same way. */
      readonly reach: "question" | "kind" | "server"
      readonly detail: string
      /** HTTP status, 0 without an answer. */
      readonly code: number
      /** ms that the server asks us to wait. */
      readonly retryAfterMs: number | undefined
    }

/** Bytes of an answer. An object's metadata is bounded by etcd's 1.5 MiB. */
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

  /** `deadlineMs`: for one answer. */
  constructor(client: Pick<HttpClient, "get">, deadlineMs: number, timers?: Timers) {
    this.#client = client
    this.#deadlineMs = deadlineMs
    this.#timers = timers
  }

  async ask(question: OwnerQuestion): Promise<LookUpOutcome> {
    if (!canBeName(question.name)) return { tag: "gone", namespace: question.namespace }
    return this.#ask(question, true)
  }

  /** `mayMove`: the kind is discovered anew if it is not where it was. */
  async #ask(question: OwnerQuestion, mayMove: boolean): Promise<LookUpOutcome> {
    const finding = this.#resourceOf(question.gvk)
    const resource = await finding
    if ("tag" in resource) return resource
    const namespace = resource.namespaced ? question.namespace : ""
    // The path of a namespaced object without its namespace would be another kind's.
    if (resource.namespaced && namespace === "") return { tag: "gone", namespace }
    const path = objectPath(resource, namespace, question.name)
    const answer = await requestOnce(this.#client, path, { ...this.#options, headers: metadataOnly, maximumBytes })
    if (answer.tag !== "response") return unanswered(answer)
    if (answer.status === 404) {
      if (isAboutObject(answer.body)) return { tag: "gone", namespace }
      // The kind is not there any more. Only discovery can tell whether it exists, and only a kind that does not has no objects.
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

  /** Where a kind's objects are: asked once, also when many ask at the same time; only an answer is kept. */
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
    // ownerReferences are not validated beyond being text: such a kind cannot exist.
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
 * Nobody validates the names in ownerReferences. One that is no segment of a path (apimachinery's IsValidPathSegmentName) is no
 * object's, and the server would take it for another path, such as the collection's.
 */
const canBeName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name)

/**
 * Credentials and overload concern everything. An error of the server may be one kind's alone: its conversion webhook
 * answers 500, its aggregated server 503; only one that says when to come back speaks for all.
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

/** Whether a 404 is the API server's about an object; one about a path is a Status too, or comes from something in front of it. */
const isAboutObject = (body: Buffer): boolean => {
  const status = readStatus(body, 404)
  return status !== undefined && status.message !== "the server could not find the requested resource"
}

const waitOf = ({ retryAfterSeconds }: ApiStatus): { readonly retryAfterMs: number | undefined } => ({
  retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
})

/** No complete answer. Silence may be an aggregated server's, which is one kind's. */
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
