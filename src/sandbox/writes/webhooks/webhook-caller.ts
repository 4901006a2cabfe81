/**
 * Calls webhooks over HTTPS. A call ends within the webhook's own time limit, and holds nothing but its own connection
 * meanwhile; connections to one server are kept for the next call, those to the servers that were called last.
 */

import { type Failure, fail, keyOf, type Resource } from "../../../apiserver/index.ts"
import type { Timers } from "../../../clock.ts"
import { describeFailure, HttpClient, type StringMap, sendOnce } from "../../../kube/index.ts"
import { apiVersionOf, type GroupVersionKind, matchesLabels, requirementsOf } from "../../../kube/offline.ts"
import { messageOf } from "../../../message-of.ts"
import { at, child, fieldsOf, isAbsent, items, number, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { stateOf } from "../../store/object-encoding.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import type { Randomness } from "../../store/stamps.ts"
import { type AdmissionAttributes, asView, type Webhook } from "./webhook.ts"

/** A replay creates pods by the hundred at once, and a handshake costs more than a review. */
const keptConnections = 16

/**
 * More than most clusters have. Configurations come and go with replays and tests, each with a port and an authority of
 * its own.
 */
const keptServers = 16

interface Server {
  readonly client: HttpClient
  /** Calls that have not ended. */
  calls: number
}

/** Answers reviews for URLs in the process of the sandbox; `undefined`: it is not one of them. */
export type OwnWebhooks = (url: URL, body: string) => Promise<{ status: number; text: string }> | undefined

export class WebhookCaller {
  readonly #own: OwnWebhooks | undefined
  readonly #timers: Timers
  readonly #random: Randomness
  readonly #findEndpoint: FindEndpoint
  /** By address and authority, the one that was called last at the end. */
  readonly #servers = new Map<string, Server>()

  constructor(timers: Timers, random: Randomness, findEndpoint: FindEndpoint, own?: OwnWebhooks) {
    this.#own = own
    this.#timers = timers
    this.#random = random
    this.#findEndpoint = findEndpoint
  }

  /** Shows the request as one of `view`. Never rejects: whatever goes wrong is an answer. */
  async call(webhook: Webhook, attributes: AdmissionAttributes, view: Resource): Promise<WebhookAnswer> {
    if (attributes.dryRun && webhook.hasSideEffects) return dryRunRefused(webhook)
    const { url, service, certificateAuthority } = webhook.target
    const address = URL.parse(url)
    if (address === null) return failedAnswer(`failed to call webhook: ${JSON.stringify(url)} is not a URL`)
    address.searchParams.set("timeout", `${webhook.timeoutMs / 1000}s`)
    // An URL object leaves out the port 443; the API server shows it.
    const shown = service === undefined ? address.href : `${url}${address.search}`
    const failed = (problem: string): WebhookAnswer =>
      failedAnswer(`failed to call webhook: Post ${JSON.stringify(shown)}: ${problem}`)
    const endpoint = service && this.#findEndpoint(service)
    if (endpoint?.tag === "none") return failed(endpoint.problem)
    const uid = this.#random.uid()
    const server = this.#server(
      endpoint === undefined ? address.origin : `https://${endpoint.address}`,
      certificateAuthority,
      endpoint === undefined ? undefined : address.hostname,
    )
    const body = reviewText(webhook, uid, attributes, view)
    const own = this.#own?.(address, body)
    server.calls++
    const outcome = own
      ? responseOf(await own)
      : await sendOnce(
          server.client,
          {
            method: "POST",
            path: `${address.pathname}${address.search}`,
            body,
            // Webhooks must be idempotent, and the server may have closed an idle connection.
            isRepeatable: true,
          },
          { deadlineMs: webhook.timeoutMs, timers: this.#timers },
        )
    server.calls--
    this.#forget()
    if (outcome.tag === "deadline") return failed("context deadline exceeded")
    if (outcome.tag !== "response") return failed(describeFailure(outcome))
    if (outcome.status === 500) {
      const given = JSON.stringify(outcome.body.toString("utf8").trim())
      return failedAnswer(
        `failed to call webhook: an error on the server (${given}) has prevented the request from succeeding`,
      )
    }
    if (outcome.status < 200 || outcome.status > 299) return failed(`the response has the status ${outcome.status}`)
    return answerIn(webhook, uid, outcome.body.toString("utf8"))
  }

  /** Ends running calls as failed. */
  close(): void {
    for (const { client } of this.#servers.values()) client.close()
  }

  /**
   * Of more servers than are kept, those that were not called for the longest time. A call that runs keeps its server.
   */
  #forget(): void {
    for (const [key, { client, calls }] of this.#servers) {
      if (this.#servers.size <= keptServers) return
      if (calls > 0) continue
      this.#servers.delete(key)
      client.close()
    }
  }

  /** `name`: what the certificate must be for, if it is not for the address. */
  #server(address: string, certificateAuthority: string | undefined, name: string | undefined): Server {
    const key = `${address} ${name ?? ""} ${certificateAuthority ?? ""}`
    const known = this.#servers.get(key)
    if (known !== undefined) {
      this.#servers.delete(key)
      this.#servers.set(key, known)
      return known
    }
    const endpoint = {
      server: address,
      headers: [],
      ...(certificateAuthority !== undefined && { certificateAuthority }),
      ...(name !== undefined && { tlsServerName: name }),
    }
    const client = new HttpClient(endpoint, {
      userAgent: "kube-apiserver-admission",
      maximumIdle: keptConnections,
      // The limit of a call includes connecting; this is the longest that a webhook may have.
      connectTimeoutMs: 30_000,
    })
    const server = { client, calls: 0 }
    this.#servers.set(key, server)
    return server
  }
}

// AdmissionReviews: the question to a webhook and what its answer means.

/** What became of one call. */
export type WebhookAnswer =
  | { readonly type: "allowed"; readonly patch: unknown; readonly warnings: ReadonlyArray<string> }
  /** The response to the client, whatever the failure policy. */
  | { readonly type: "refused"; readonly failure: Failure; readonly warnings: ReadonlyArray<string> }
  /** No usable answer: the failure policy decides. */
  | { readonly type: "failed"; readonly problem: string }

const failedAnswer = (problem: string): WebhookAnswer => ({ type: "failed", problem })

const refusedAnswer = (failure: Failure, warnings: ReadonlyArray<string> = []): WebhookAnswer => ({
  type: "refused",
  failure,
  warnings,
})

/** The 400 for a dry run that a webhook with side effects would see. */
const dryRunRefused = ({ name }: Webhook): WebhookAnswer =>
  refusedAnswer(
    fail(400, `admission webhook ${JSON.stringify(name)} does not support dry run`, { reason: "BadRequest" }),
  )

const responseOf = ({ status, text: body }: { status: number; text: string }) => ({
  ...{ tag: "response" as const, status, body: Buffer.from(body) },
})

/** The body of a call that shows the request as one of `view`. */
const reviewText = (webhook: Webhook, uid: string, attributes: AdmissionAttributes, view: Resource): string => {
  const { resource, object, oldObject } = attributes
  const shown = (state: typeof object): MutableObject | null => asView(state, attributes, resource, view) ?? null
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: versionOf(webhook),
    request: { uid, ...requestIn(attributes, view), object: shown(object), oldObject: shown(oldObject) },
  })
}

/** The request without its objects, as one of `view`. */
export const requestIn = (attributes: AdmissionAttributes, view: Resource): Fields => {
  const { resource, subresource, kind, namespace, name, operation, dryRun, options, user } = attributes
  return {
    kind: kindOf(kind === resource.gvk ? view.gvk : kind),
    resource: pluralOf(view),
    subResource: orAbsent(subresource),
    requestKind: kindOf(kind),
    requestResource: pluralOf(resource),
    requestSubResource: orAbsent(subresource),
    name: orAbsent(name),
    namespace: orAbsent(namespace),
    operation,
    userInfo: user,
    dryRun,
    options,
  }
}

const kindOf = ({ group, version, kind }: GroupVersionKind): Fields => ({ group, version, kind })

const pluralOf = ({ gvk, plural }: Resource): Fields => ({
  group: gvk.group,
  version: gvk.version,
  resource: plural,
})

const versionOf = ({ reviewVersion }: Webhook): string =>
  apiVersionOf({ group: "admission.k8s.io", version: reviewVersion, kind: "" })

const orAbsent = (value: string): string | undefined => (value === "" ? undefined : value)

/** Reads the body of a response with status 200, and checks it as the API server does. Never throws. */
const answerIn = (webhook: Webhook, uid: string, body: string): WebhookAnswer => {
  const review = parsed(body)
  if (review === undefined) return failedAnswer("failed to call webhook: the response is not a JSON object")
  const response = child(review, "response")
  const problem = response === undefined ? "webhook response was absent" : envelopeProblem(webhook, uid, review)
  if (problem !== undefined) return failedAnswer(`received invalid webhook response: ${problem}`)
  const warnings = texts(response, "warnings")
  if (response?.allowed !== true) return refusedAnswer(denial(webhook, child(response, "status")), warnings)
  return patchAnswer(response, warnings)
}

const envelopeProblem = (webhook: Webhook, uid: string, review: Fields): string | undefined => {
  const response = child(review, "response")
  const { patch, patchType } = response ?? {}
  if (webhook.reviewVersion === "v1") {
    if (text(response, "uid") !== uid)
      return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(text(response, "uid"))}`
    if (review.kind !== "AdmissionReview" || review.apiVersion !== versionOf(webhook))
      return `expected webhook response of ${versionOf(webhook)}, Kind=AdmissionReview, got ${String(review.apiVersion)}, Kind=${String(review.kind)}`
    const given = [isAbsent(patch), isAbsent(patchType)]
    if (webhook.type === "mutating" && given[0] !== given[1]) {
      return given[0]
        ? "webhook returned response.patchType but not response.patch"
        : "webhook returned response.patch but not response.patchType"
    }
  }
  if (webhook.type === "validating" && !(isAbsent(patch) && isAbsent(patchType)))
    return "validating webhook may not return response.patch"
  return isAbsent(patchType) || patchType === "JSONPatch" ? undefined : `unsupported patch type ${String(patchType)}`
}

const patchAnswer = ({ patch }: Fields, warnings: ReadonlyArray<string>): WebhookAnswer => {
  if (isAbsent(patch)) return { type: "allowed", patch: undefined, warnings }
  try {
    return { type: "allowed", patch: JSON.parse(bytesOf(patch).toString("utf8")), warnings }
  } catch (error) {
    return failedAnswer(`received invalid webhook response: ${messageOf(error)}`)
  }
}

/** Go's decoder takes bytes as base64 and as a list of numbers. */
const bytesOf = (patch: unknown): Buffer =>
  Array.isArray(patch) ? Buffer.from(patch.map(Number)) : Buffer.from(String(patch), "base64")

/** The webhook's own status, which may have any code that is an error, and anything else that a Status has. */
const denial = ({ name }: Webhook, status: Fields | undefined): Failure => {
  const code = number(status, "code") ?? 0
  const [message, reason] = [text(status, "message"), text(status, "reason")]
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`
  const explanation = message || reason
  const details = child(status, "details")
  return fail(
    Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    explanation === "" ? `${denied} without explanation` : `${denied}: ${explanation}`,
    { ...(reason !== "" && { reason }), ...(details !== undefined && { details }) },
  )
}

const parsed = (body: string): Fields | undefined => {
  try {
    return fieldsOf(JSON.parse(body))
  } catch {
    // Reported as what it is: no JSON object.
    return undefined
  }
}

// Where the Service of a webhook leads: to a ready Pod that it selects. The sandbox has no EndpointSlices, whose
// content would be the same.

/** `clientConfig.service`. */
export interface WebhookService {
  readonly namespace: string
  readonly name: string
  readonly port: number
  /** Absolute. */
  readonly path: string
}

/** An address to connect to, or why there is none, in the API server's words. */
type ServiceEndpoint =
  | { readonly tag: "endpoint" /** `host:port`, an IPv6 address in brackets. */; readonly address: string }
  | { readonly tag: "none"; readonly problem: string }

/** Resolves a Service by the present objects. */
type FindEndpoint = (service: WebhookService) => ServiceEndpoint

/** Looks at the labels of all Pods per call: little beside a request to a webhook. */
export const serviceEndpoints = (store: ObjectStore): FindEndpoint => {
  const services = store.collection("v1.Service")
  const pods = store.collection("v1.Pod")
  return ({ namespace, name, port: given }) => {
    const found = services.live.get(keyOf(namespace, name))
    if (found === undefined) return { tag: "none", problem: `service "${name}" not found` }
    const service = child(stateOf(found.change), "spec")
    const port = items(service, "ports").find((one) => number(one, "port") === given)
    if (port === undefined) return { tag: "none", problem: `no service port ${given} found for service "${name}"` }
    const selector = child(service, "selector")
    if (selector !== undefined) {
      const requirements = requirementsOf({ matchLabels: selector as StringMap })
      for (const { change } of pods.live.values()) {
        const isSelected = change.namespace === namespace && matchesLabels(requirements, change.labels)
        const endpoint = isSelected ? ofPod(stateOf(change), port) : undefined
        if (endpoint !== undefined) return endpoint
      }
    }
    return { tag: "none", problem: `no endpoints available for service "${name}"` }
  }
}

/** A Pod that is being deleted or not ready gets no requests. */
const ofPod = (pod: Fields, servicePort: Fields): ServiceEndpoint | undefined => {
  const isReady = items(child(pod, "status"), "conditions").some(
    (condition) => text(condition, "type") === "Ready" && text(condition, "status") === "True",
  )
  if (!isReady || child(pod, "metadata")?.deletionTimestamp !== undefined) return undefined
  return endpointAt(text(child(pod, "status"), "podIP"), podPort(pod, servicePort))
}

const endpointAt = (host: string | undefined, port: number | undefined): ServiceEndpoint | undefined => {
  if (host === undefined || host === "" || port === undefined) return undefined
  return { tag: "endpoint", address: `${host.includes(":") ? `[${host}]` : host}:${port}` }
}

/** `targetPort` is a number, the name of a container's port, or absent: then it is the Service's port. */
const podPort = (pod: Fields, servicePort: Fields): number | undefined => {
  const target = servicePort.targetPort
  if (typeof target === "number" && target !== 0) return target
  if (typeof target !== "string" || target === "") return number(servicePort, "port")
  const ports = items(at(pod, "spec"), "containers").flatMap((container) => items(container, "ports"))
  return number(
    ports.find((one) => text(one, "name") === target),
    "containerPort",
  )
}
