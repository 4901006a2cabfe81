/** A webhook that a replay registers for its own pods: server, certificate and registration, from start to removal. */
import { randomBytes } from "node:crypto"
import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import {
  certifiedHost,
  clientConfigOf,
  configurationKinds,
  makeServerCertificate,
  type ReviewServer,
  type WebhookAddress,
} from "../../host/index.ts"
import { type ApiClient, type ApiObject, type CallOptions, kinds, pause, unlessNotFound } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { type Ownership, ownMetadata, replayLabel } from "../objects/target-object.ts"
import { type PatchOperation, type PodReview, startWebhookServer } from "./webhook-server.ts"

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
/** Longer than any replay; the key is in the memory of this process alone. */
const validMs = 365 * dayMs
/** ms within which the API server has to call: usually below 300. Otherwise each pod would wait for it in vain. */
const reachMs = 5000

/** The API server has not called the webhook. */
class WebhookUnreached extends Schema.TaggedError<WebhookUnreached>()("WebhookUnreached", {
  url: Schema.String,
  /** Why the API server refused the last pod that was to be reviewed; empty if it refused none. */
  refusal: Schema.String,
}) {
  override get message(): string {
    const refusal = this.refusal === "" ? "" : ` (the last trial creation of a pod was refused: ${this.refusal})`
    return `the API server has not called ${this.url} within ${reachMs / 1000} s${refusal}; name an address of this machine that it can reach with --webhook-address`
  }
}

/**
 * The webhook of one run. API servers do not authenticate to webhooks, so the path is a secret of 128 bits: only the API server knows it, and those who
 * may read webhook configurations.
 */
export class PodWebhook implements StartedWebhook {
  readonly #options: PodWebhookOptions
  #server: ReviewServer | undefined
  #isRegistered = false
  /** Reviews so far. */
  #asked = 0

  private constructor(options: PodWebhookOptions) {
    this.#options = options
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

  isCalled(signal: AbortSignal): Promise<boolean | undefined> {
    const { client, clock, own } = this.#options
    const before = this.#asked
    return isCalledNow({ client, clock, namespace: own.root.name, isAsked: () => this.#asked > before, signal })
  }

  /** Never rejects: the removal of the replay removes the registration as well. `signal` ends waiting for a server that does not answer. */
  async close(options: CallOptions = {}): Promise<void> {
    const { client, own, onProblem } = this.#options
    // First the registration, so that no pod waits for a server that is gone.
    if (this.#isRegistered)
      await unlessNotFound(client.delete(webhookConfigurations, { name: registrationOf(own) }, options)).catch(
        (error: unknown) => onProblem(`the webhook is still registered: ${messageOf(error)}`),
      )
    await this.#server?.close()
  }

  async #start(): Promise<void> {
    const { client, clock, own, address, onProblem, signal = new AbortController().signal } = this.#options
    const nowMs = clock.wallMicros() / 1000
    const certificate = makeServerCertificate({
      host: certifiedHost(address),
      notBeforeMs: nowMs - validBeforeMs,
      notAfterMs: nowMs + validMs,
    })
    const path = `/mutate/${randomBytes(16).toString("hex")}`
    const review: PodWebhookOptions["review"] = (asked) => {
      this.#asked++
      return this.#options.review(asked)
    }
    this.#server = await startWebhookServer({ ...address.listen, path, certificate, onProblem, review })
    const clientConfig = clientConfigOf(address, this.#server.port, path, certificate.authority)
    try {
      const configuration = registration(own, clientConfig)
      await client.create(webhookConfigurations, configuration, { signal })
      this.#isRegistered = true
    } catch (error) {
      // The server may have accepted it all the same.
      this.#isRegistered = signal.aborted
      throw error
    }
    const isAsked = (): boolean => this.#asked > 0
    const reach = { client, clock, namespace: own.root.name, isAsked, limitMs: reachMs, signal }
    const { isReached, refusal } = await webhookReached(reach)
    const url = `https://${certifiedHost(address)}:${this.#server.port}`
    if (!isReached) throw new WebhookUnreached({ url, refusal })
  }
}

/** The kind of a registration. */
export const webhookConfigurations = configurationKinds.mutate

const registrationOf = ({ replay }: Ownership): string => `kubereel-replay-${replay}`

/** s that a pod's creation waits for an answer; most take some ms, and the first ones wait until the trace has been read. */
const timeoutSeconds = 5

/**
 * The MutatingWebhookConfiguration of a replay, for pods in its own namespaces only; it never keeps one from being created. It has the replay's label
 * and root, so the removal finds it even after the replay was killed.
 */
export const registration = (own: Ownership, clientConfig: object): ApiObject => {
  const rule = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" }
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: webhookConfigurations.gvk.kind,
    metadata: { name: registrationOf(own), ...ownMetadata(own) },
    webhooks: [
      {
        name: "pods.replay.kubereel.dev",
        clientConfig,
        rules: [
          { ...rule, operations: ["CREATE"], resources: ["pods"] },
          // Nodes report there that a pod runs.
          { ...rule, operations: ["UPDATE"], resources: ["pods/status"] },
        ],
        // The root and the namespaces of the replay have it; pods of others are never delayed.
        namespaceSelector: { matchLabels: { [replayLabel]: own.replay } },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        reinvocationPolicy: "Never",
        timeoutSeconds,
      },
    ],
  }
}

/** Where pods are created on trial, and how long. */
interface ReachOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** A namespace for whose pods the webhook is registered. */
  readonly namespace: string
  /** Whether a review has arrived. */
  readonly isAsked: () => boolean
  /** ms after which the webhook counts as not reached; 0: after one pod. */
  readonly limitMs: number
  readonly signal: AbortSignal
}

/** ms between two looks whether the server asks the webhook. */
const lookMs = 50

/**
 * Whether an API server calls a webhook for pods: asked by creating a pod that is not stored, instead of waiting for a guessed time. `refusal`: why the
 * last pod was refused; empty if it was not. Never rejects.
 */
export const webhookReached = async (
  options: ReachOptions,
): Promise<{ readonly isReached: boolean; readonly refusal: string }> => {
  const { client, clock, namespace, isAsked, limitMs, signal } = options
  const probe: ApiObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe", namespace },
    spec: { containers: [{ name: "probe", image: "kubereel.dev/none" }], automountServiceAccountToken: false },
  }
  let refusal = ""
  for (const deadline = clock.monotonicMs() + limitMs; !isAsked() && !signal.aborted; ) {
    // Refused as long as the namespace has no service account, with the same error as without the permission.
    const writing = { dryRun: true, isRepeatable: true, signal }
    refusal = await client.create(kinds.pods, probe, writing).then(() => "", messageOf)
    if (isAsked()) break
    if (clock.monotonicMs() >= deadline) return { isReached: false, refusal }
    await pause(clock, lookMs, signal)
  }
  return { isReached: isAsked(), refusal }
}

/** One look; `undefined`: unknown, see {@link StartedWebhook.isCalled}. */
export const isCalledNow = async (options: Omit<ReachOptions, "limitMs">): Promise<boolean | undefined> => {
  const { isReached, refusal } = await webhookReached({ ...options, limitMs: 0 })
  return isReached || (refusal === "" && !options.signal.aborted ? false : undefined)
}
