/**
 * Calls webhooks over HTTPS. A call ends within the webhook's own time limit, and holds nothing but its own connection
 * meanwhile; connections to one server are kept for the next call, those to the servers that were called last.
 */

import type { Resource } from "../../../apiserver/kinds/resources.ts"
import type { Timers } from "../../../clock.ts"
import { HttpClient } from "../../../kube/http/http-client.ts"
import { describeFailure, sendOnce } from "../../../kube/http/request-once.ts"
import type { Randomness } from "../../randomness.ts"
import { answerIn, dryRunRefused, failedAnswer, reviewText, type WebhookAnswer } from "./admission-review.ts"
import type { AdmissionAttributes } from "./matching.ts"
import type { FindEndpoint } from "./service-endpoint.ts"
import type { Webhook } from "./webhook.ts"

/** A replay creates pods by the hundred at once, and a handshake costs more than a review. */
const keptConnections = 16

/** More than most clusters have. Configurations come and go with replays and tests, each with a port and an authority of its own. */
const keptServers = 16

interface Server {
  readonly client: HttpClient
  /** Calls that have not ended. */
  calls: number
}

export class WebhookCaller {
  readonly #timers: Timers
  readonly #random: Randomness
  readonly #findEndpoint: FindEndpoint
  /** By address and authority, the one that was called last at the end. */
  readonly #servers = new Map<string, Server>()

  constructor(timers: Timers, random: Randomness, findEndpoint: FindEndpoint) {
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
    server.calls++
    const outcome = await sendOnce(
      server.client,
      {
        method: "POST",
        path: `${address.pathname}${address.search}`,
        body: reviewText(webhook, uid, attributes, view),
        // Webhooks must be idempotent, and the server may have closed an idle connection.
        isRepeatable: true,
      },
      { deadlineMs: webhook.timeoutMs, timers: this.#timers },
    )
    server.calls--
    this.#forget()
    if (outcome.tag === "deadline") return failed("context deadline exceeded")
    if (outcome.tag !== "response") return failed(describeFailure(outcome))
    if (outcome.status < 200 || outcome.status > 299) return failed(`the response has the status ${outcome.status}`)
    return answerIn(webhook, uid, outcome.body.toString("utf8"))
  }

  /** Ends running calls as failed. */
  close(): void {
    for (const { client } of this.#servers.values()) client.close()
  }

  /** Of more servers than are kept, those that were not called for the longest time. A call that runs keeps its server. */
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
