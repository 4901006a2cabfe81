/**
 * The MutatingWebhookConfiguration of a replay: it concerns pods in the replay's own namespaces only, and never keeps one from being created.
 *
 * It has the replay's label and root, so the removal finds it even after the replay was killed.
 */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { CallOptions } from "../../kube/client/api-connection.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import type { Kind } from "../../kube/kind.ts"
import { messageOf } from "../../message-of.ts"
import { type Ownership, ownMetadata, replayLabel } from "../objects/target-object.ts"

/** How an API server reaches the webhook: directly, or through a Service of its own cluster. */
export type WebhookTarget =
  | { readonly url: string }
  | {
      readonly service: {
        readonly namespace: string
        readonly name: string
        readonly path: string
        readonly port: number
      }
    }

/** The kind of a registration. */
export const webhookConfigurations: Kind = {
  gvk: { group: "admissionregistration.k8s.io", version: "v1", kind: "MutatingWebhookConfiguration" },
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
}

/** s that a pod's creation waits for an answer; most take some ms, and the first ones wait until the trace has been read. */
const timeoutSeconds = 5
/** ms between two looks whether the server asks the webhook. */
const lookMs = 50

/** `own`: the replay whose pods are concerned, and its root. */
export interface RegistrationOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly own: Ownership
  readonly target: WebhookTarget
}

/** The registration of one run. */
export class WebhookRegistration {
  readonly #options: RegistrationOptions
  readonly #name: string

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#name = `kubereel-replay-${options.own.replay}`
  }

  /** `authorities`: PEM. Rejects with an ApiError. */
  async create(authorities: string, options: CallOptions = {}): Promise<void> {
    const { client, own, target } = this.#options
    const rule = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" }
    const configuration: ApiObject = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: webhookConfigurations.gvk.kind,
      metadata: { name: this.#name, ...ownMetadata(own) },
      webhooks: [
        {
          name: "pods.replay.kubereel.dev",
          clientConfig: { ...target, caBundle: bundleOf(authorities) },
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
    await client.create(webhookConfigurations, configuration, options)
  }

  /**
   * Returns whether the server calls the webhook within `ms`: creates a pod in the root's namespace that is not stored, until `isAsked` says
   * that its review has arrived. `refusal`: why the last such creation was refused, or the empty string. Never rejects. `signal` ends it.
   */
  async reaches(
    isAsked: () => boolean,
    ms: number,
    signal: AbortSignal,
  ): Promise<{ readonly isReached: boolean; readonly refusal: string }> {
    const { client, clock, own } = this.#options
    const container = { name: "probe", image: "kubereel.dev/none" }
    const probe: ApiObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "probe", namespace: own.root.name },
      spec: { containers: [container], automountServiceAccountToken: false },
    }
    let refusal = ""
    for (const deadline = clock.monotonicMs() + ms; !isAsked(); ) {
      if (clock.monotonicMs() >= deadline || signal.aborted) return { isReached: false, refusal }
      // Refused as long as the namespace has no service account, with the same error as without the permission.
      const options = { dryRun: true, isRepeatable: true, signal }
      refusal = await client.create(kinds.pods, probe, options).then(() => "", messageOf)
      if (!isAsked()) await new Promise<void>((resolve) => clock.after(lookMs, resolve))
    }
    return { isReached: true, refusal }
  }

  /** Rejects with an ApiError. */
  async trust(authorities: string): Promise<void> {
    const path = "/webhooks/0/clientConfig/caBundle"
    const patch = [{ op: "replace", path, value: bundleOf(authorities) }]
    await this.#options.client.patch(webhookConfigurations, { name: this.#name }, "json", patch)
  }

  /** Rejects with an ApiError. */
  async remove(options: CallOptions = {}): Promise<void> {
    try {
      await this.#options.client.delete(webhookConfigurations, { name: this.#name }, options)
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
    }
  }
}

const bundleOf = (authorities: string): string => Buffer.from(authorities).toString("base64")
