/**
 * The webhook that the controller has registered for the pods of a Simulation. Pods in namespaces that do not belong
 * to the replay are never changed, although the registration knows only how names of namespaces begin.
 */
import type { Clock } from "../../clock.ts"
import type { ReviewServer, ServerCertificate } from "../../host/index.ts"
import { type ApiClient, type ApiObject, kinds } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { replayLabel } from "../objects/target-object.ts"
import { isCalledNow, type StartWebhook, webhookReached } from "../webhook/pod-webhook.ts"
import { type PatchOperation, type PodReview, startWebhookServer } from "../webhook/webhook-server.ts"
import { DriverFailure } from "./driver-setting.ts"

/** The certificate of a server; who is to trust it is in the registration. */
export type WebhookIdentity = Omit<ServerCertificate, "authority">

/** Where the webhook listens, and who it is. */
interface DriverWebhookOptions {
  /** For look-ups; not the client that writes the objects of the replay, whose writes wait for this webhook. */
  readonly client: ApiClient
  readonly clock: Clock
  readonly address: string
  readonly port: number
  /** Reads the certificate; rejects with an error for people. */
  readonly readIdentity: () => Promise<WebhookIdentity>
  /** The value of the label of the replay's namespaces. */
  readonly replay: string
  /** Gets one line for people. */
  readonly onProblem: (problem: string) => void
}

/** ms within which the API server has to call: a Service needs seconds until its endpoints are known everywhere. */
const reachMs = 60_000

/** From {@link DriverWebhook.start} to {@link DriverWebhook.close}. */
export class DriverWebhook {
  readonly #options: DriverWebhookOptions
  #server: ReviewServer | undefined
  #review: ((review: PodReview) => Promise<ReadonlyArray<PatchOperation>>) | undefined
  #gate: { readonly namespace: string; isAsked: boolean } | undefined
  /** Namespaces of the replay. */
  readonly #own = new Set<string>()

  private constructor(options: DriverWebhookOptions) {
    this.#options = options
  }

  /** Rejects with {@link DriverFailure} if the certificate is unusable or the port is taken. */
  static async start(options: DriverWebhookOptions): Promise<DriverWebhook> {
    const { readIdentity, address, port, onProblem } = options
    const webhook = new DriverWebhook(options)
    const certificate = await readIdentity()
    try {
      const review = (each: PodReview) => webhook.#answer(each)
      webhook.#server = await startWebhookServer({ address, port, path: "/", certificate, review, onProblem })
    } catch (error) {
      throw new DriverFailure({ problem: startFailure(error, address, port) })
    }
    return webhook
  }

  get port(): number {
    return this.#server?.port ?? 0
  }

  /** Lets a run review its pods until it closes the webhook. */
  readonly reviewing: StartWebhook = async ({ review }) => {
    this.#review = review
    return {
      isCalled: (signal) => this.#isCalled(signal),
      close: async () => {
        this.#review = undefined
      },
    }
  }

  /**
   * Resolves when the API server calls this webhook for pods of the namespace. Rejects with {@link DriverFailure} if it does not within a minute, or when
   * `signal` is aborted.
   */
  async reached(namespace: string, signal: AbortSignal): Promise<void> {
    const { port, client, clock } = this.#options
    const gate = { namespace, isAsked: false }
    this.#gate = gate
    const reach = { client, clock, namespace, isAsked: () => gate.isAsked, limitMs: reachMs, signal }
    const { isReached, refusal } = await webhookReached(reach)
    if (isReached) return
    if (signal.aborted)
      throw new DriverFailure({ problem: "the driver was ended before the API server called its webhook" })
    const reason = refusal === "" ? "" : ` (the last trial creation of a pod was refused: ${refusal})`
    throw new DriverFailure({
      problem: `the API server has not called the driver's webhook on port ${port} within ${reachMs / 1000} s${reason}: check that the MutatingWebhookConfiguration sk-NAME-mutatepods exists, that its Service selects this pod, and that no NetworkPolicy keeps the API server out`,
    })
  }

  /** In the namespace in which it was reached. */
  async #isCalled(signal: AbortSignal): Promise<boolean | undefined> {
    if (this.#gate === undefined) return undefined
    const { client, clock } = this.#options
    const gate = { namespace: this.#gate.namespace, isAsked: false }
    this.#gate = gate
    return isCalledNow({ client, clock, namespace: gate.namespace, isAsked: () => gate.isAsked, signal })
  }

  /** Resolves when all connections are closed. */
  async close(): Promise<void> {
    await this.#server?.close()
  }

  async #answer(review: PodReview): Promise<ReadonlyArray<PatchOperation>> {
    if (review.namespace === this.#gate?.namespace) {
      this.#gate.isAsked = true
      return []
    }
    const reviewer = this.#review
    return reviewer !== undefined && (await this.#isOwn(review.namespace)) ? reviewer(review) : []
  }

  /** Only what is found is remembered: a namespace may be created under a name that another one had. */
  async #isOwn(name: string): Promise<boolean> {
    if (this.#own.has(name)) return true
    const { client, replay } = this.#options
    const { metadata } = await client.get<ApiObject>(kinds.namespaces, { name })
    if (metadata.labels?.[replayLabel] !== replay) return false
    this.#own.add(name)
    return true
  }
}

const startFailure = (error: unknown, address: string, port: number): string => {
  const code = (error as NodeJS.ErrnoException).code ?? ""
  if (code.startsWith("ERR_OSSL") || code.startsWith("ERR_SSL"))
    return `the webhook's certificate cannot be used: ${messageOf(error)}; --cert-path and --key-path must name a certificate and its key, as PEM`
  const why = code === "EADDRINUSE" ? "the port is in use" : messageOf(error)
  return `the webhook cannot listen on ${address}:${port}: ${why}; choose another spec.driver.port`
}
