/**
 * A webhook that a replay registers for its own pods: server, certificate and registration, from start to removal.
 *
 * The certificate is renewed before it expires. The API server trusts the new authority first, then the server presents the new
 * certificate, so that no review fails in between.
 */
import { randomBytes } from "node:crypto"
import * as Schema from "effect/Schema"
import type { Clock, Timer } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { CallOptions } from "../../kube/client/api-connection.ts"
import { messageOf } from "../../message-of.ts"
import type { Ownership } from "../objects/target-object.ts"
import type { PatchOperation, PodReview } from "./admission-review.ts"
import { makeServerCertificate, type ServerCertificate } from "./certificate.ts"
import { webhookReached } from "./webhook-reach.ts"
import { WebhookRegistration, type WebhookTarget } from "./webhook-registration.ts"
import { WebhookServer } from "./webhook-server.ts"

/** Where a webhook listens, and where the API server finds it. */
export interface WebhookAddress {
  /** The local address that it listens on; port 0: any that is free. */
  readonly listen: { readonly address: string; readonly port: number }
  /** The host by which the API server reaches it, as a name or an address. */
  readonly host: string
  /** In the target's own cluster: the Service in front of it. */
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number }
}

/** What a webhook needs of the run whose pods it reviews. */
type WebhookContext = Pick<PodWebhookOptions, "clock" | "own" | "review" | "onProblem" | "signal" | "cleanUpSignal">

/** A webhook of one run. */
export interface StartedWebhook {
  /**
   * Whether the API server calls it now; `undefined`: unknown, because the server does not respond, or refuses the pod that is created on trial and
   * not stored. Default: it is not looked at.
   */
  isCalled?(signal: AbortSignal): Promise<boolean | undefined>
  /** No pod is reviewed any more afterwards. Never rejects. */
  close(options?: CallOptions): Promise<void>
}

/** Makes the API server ask about the pods of a run. Rejects with why it does not; then nothing is left. */
export type StartWebhook = (context: WebhookContext) => Promise<StartedWebhook>

/** A webhook that registers itself with the API server of `client`. */
export const registeredWebhook =
  (client: ApiClient, address: WebhookAddress): StartWebhook =>
  (context) =>
    PodWebhook.start({ ...context, client, address })

/** `review`: what to change in a pod. `onProblem` gets one sentence for people for each problem that does not end the webhook. */
interface PodWebhookOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly own: Ownership
  readonly address: WebhookAddress
  readonly review: (review: PodReview) => Promise<ReadonlyArray<PatchOperation>>
  readonly onProblem: (problem: string) => void
  /** Ends {@link PodWebhook.start} at once, which then rejects. Default: never. */
  readonly signal?: AbortSignal
  /** Ends the removal of what a start that failed has registered. Default: never. */
  readonly cleanUpSignal?: AbortSignal
}

const dayMs = 86_400_000
/** Clocks of API servers may be behind. */
const validBeforeMs = dayMs
const validMs = 7 * dayMs
/** Two days remain for attempts that fail. */
const renewAfterMs = 5 * dayMs
const retryMs = 60_000
/** API servers read a changed configuration within a second. */
const settleMs = 10_000
/** ms within which the API server has to call: usually below 300. Otherwise each pod would wait for it in vain. */
const reachMs = 5000

/** The API server has not called the webhook. */
class WebhookUnreached extends Schema.TaggedError<WebhookUnreached>()("WebhookUnreached", {
  url: Schema.String,
  /** s that were waited. */
  afterSeconds: Schema.Number,
  /** Why the API server refused the last pod that was to be reviewed; empty if it refused none. */
  refusal: Schema.String,
}) {
  override get message(): string {
    const refusal = this.refusal === "" ? "" : ` (the last trial creation of a pod was refused: ${this.refusal})`
    return `the API server has not called ${this.url} within ${this.afterSeconds} s${refusal}; name an address of this machine that it can reach with --webhook-address`
  }
}

/**
 * The webhook of one run: its server, its registration with the API server, and a certificate that is renewed while it runs.
 *
 * API servers do not authenticate to webhooks, so the path is a secret of 128 bits: only the API server knows it, and those who may read
 * webhook configurations.
 */
export class PodWebhook {
  readonly #options: PodWebhookOptions
  readonly #path = `/mutate/${randomBytes(16).toString("hex")}`
  #server: WebhookServer | undefined
  #registration: WebhookRegistration | undefined
  #certificate: ServerCertificate
  #timer: Timer | undefined
  /** Reviews so far. */
  #asked = 0
  #isClosed = false

  private constructor(options: PodWebhookOptions) {
    this.#options = options
    this.#certificate = this.#newCertificate()
  }

  /** Rejects with the error of the socket, an ApiError or {@link WebhookUnreached}, also if it was interrupted; then nothing is left. */
  static async start(options: PodWebhookOptions): Promise<PodWebhook> {
    const webhook = new PodWebhook(options)
    try {
      await webhook.#start()
      return webhook
    } catch (error) {
      const { cleanUpSignal } = options
      await webhook.close(cleanUpSignal === undefined ? {} : { signal: cleanUpSignal })
      throw error
    }
  }

  async isCalled(signal: AbortSignal): Promise<boolean | undefined> {
    const { client, clock, own } = this.#options
    const before = this.#asked
    const isAsked = (): boolean => this.#asked > before
    const { isReached, refusal } = await webhookReached({
      client,
      clock,
      namespace: own.root.name,
      isAsked,
      limitMs: 0,
      signal,
    })
    return isReached || (refusal === "" && !signal.aborted ? false : undefined)
  }

  /** Never rejects: the removal of the replay removes the registration as well. `signal` ends waiting for a server that does not answer. */
  async close(options: CallOptions = {}): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    // First the registration, so that no pod waits for a server that is gone.
    await this.#registration
      ?.remove(options)
      .catch((error: unknown) => this.#options.onProblem(`the webhook is still registered: ${messageOf(error)}`))
    await this.#server?.close()
  }

  async #start(): Promise<void> {
    const { client, clock, own, address, onProblem, signal = new AbortController().signal } = this.#options
    this.#server = await WebhookServer.start({
      address: address.listen.address,
      port: address.listen.port,
      path: this.#path,
      certificate: this.#certificate,
      onProblem,
      review: (review) => {
        this.#asked++
        return this.#options.review(review)
      },
    })
    const target = targetOf(address, this.#server.port, this.#path)
    const registration = new WebhookRegistration({ client, own, target })
    try {
      await registration.create(this.#certificate.authority, { signal })
      this.#registration = registration
    } catch (error) {
      // The server may have accepted it all the same.
      if (signal.aborted) this.#registration = registration
      throw error
    }
    const { isReached, refusal } = await webhookReached({
      client,
      clock,
      namespace: own.root.name,
      isAsked: () => this.#asked > 0,
      limitMs: reachMs,
      signal,
    })
    if (!isReached)
      throw new WebhookUnreached({
        url: `https://${bracketed(hostOf(address))}:${this.#server.port}`,
        afterSeconds: reachMs / 1000,
        refusal,
      })
    this.#renewAfter(renewAfterMs)
  }

  #newCertificate(): ServerCertificate {
    const { clock, address } = this.#options
    const nowMs = clock.wallMicros() / 1000
    const host = hostOf(address)
    return makeServerCertificate({ host, notBeforeMs: nowMs - validBeforeMs, notAfterMs: nowMs + validMs })
  }

  #renewAfter(ms: number): void {
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(ms, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const renewed = this.#newCertificate()
    try {
      await this.#registration?.trust(`${this.#certificate.authority}${renewed.authority}`)
    } catch (error) {
      if (this.#isClosed) return
      this.#options.onProblem(`the webhook's certificate could not be renewed yet: ${messageOf(error)}`)
      return this.#renewAfter(retryMs)
    }
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(settleMs, () => {
      this.#certificate = renewed
      this.#server?.renew(renewed)
      this.#renewAfter(renewAfterMs)
    })
  }
}

const hostOf = ({ host, service }: WebhookAddress): string =>
  service === undefined ? host : `${service.name}.${service.namespace}.svc`

const targetOf = ({ host, service }: WebhookAddress, port: number, path: string): WebhookTarget =>
  service === undefined ? { url: `https://${bracketed(host)}:${port}${path}` } : { service: { ...service, path } }

/** As in a URL. */
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host)
