/**
 * One question put to the API server: who owns the object of this UID?
 *
 * Asks for the metadata only, by name, and compares the UID: a name that was given to another object since is no answer
 * (SimKube does not compare: simkube.md §2.7). Never rejects; an outcome says how far a failure reaches, so that one
 * forbidden kind is not asked about ten thousand times.
 */
import { type ApiResource, discover, resourcePath } from "../../kube/discovery.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { HttpClient } from "../../kube/http/http-client.ts"
import { describeFailure, requestOnce } from "../../kube/http/request-once.ts"
import type { Timers } from "../../kube/http/timers.ts"
import { type ApiStatus, statusOfResponse } from "../../kube/status.ts"
import type { OwnerQuestion } from "../owner-messages.ts"

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
    const resource = await this.#resourceOf(question.gvk)
    if ("tag" in resource) return resource
    const namespace = resource.namespaced ? question.namespace : ""
    // The path of a namespaced object without its namespace would be another kind's.
    if (resource.namespaced && namespace === "") return { tag: "gone", namespace }
    const path = `${resourcePath(resource, namespace)}/${encodeURIComponent(question.name)}`
    const answer = await requestOnce(this.#client, path, { ...this.#options, headers: metadataOnly, maximumBytes })
    if (answer.tag !== "response") return unreachable(describeFailure(answer))
    if (answer.status !== 200)
      return this.#refused(question, namespace, path, statusOfResponse(answer.status, answer.headers, answer.body))
    const metadata = metadataOf(answer.body)
    if (metadata === undefined) {
      return {
        tag: "failed",
        reach: "question",
        detail: `${path}: no object in the answer`,
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

  #refused(question: OwnerQuestion, namespace: string, path: string, status: ApiStatus): LookUpOutcome {
    const { code, message } = status
    // Where a kind was, its objects are gone with it; a later question discovers anew.
    if (code === 404) {
      if (status.reason !== "NotFound" || message === "the server could not find the requested resource")
        this.#resources.delete(question.gvk)
      return { tag: "gone", namespace }
    }
    return {
      tag: "failed",
      reach: code === 403 ? "kind" : code === 401 || code === 429 || code >= 500 ? "server" : "question",
      detail: `${path}: ${message}`,
      code,
      retryAfterMs: status.retryAfterSeconds === undefined ? undefined : status.retryAfterSeconds * 1000,
    }
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
        return unreachable(outcome.detail)
      case "failed": {
        const { code, message, retryAfterSeconds } = outcome.status
        const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000
        const reach = code === 401 || code === 429 || code >= 500 ? "server" : "kind"
        return { tag: "failed", reach, detail: `discovery of ${gvkText}: ${message}`, code, retryAfterMs }
      }
    }
  }
}

const unreachable = (detail: string): LookUpOutcome => ({
  tag: "failed",
  reach: "server",
  detail,
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
