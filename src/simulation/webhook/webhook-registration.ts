/**
 * The MutatingWebhookConfiguration of a replay: it concerns pods in the replay's own namespaces only, and never keeps one from being created.
 *
 * It has the replay's label and root, so the removal finds it even after the replay was killed.
 */
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { CallOptions } from "../../kube/client/api-connection.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import type { Kind } from "../../kube/kind.ts"
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

/** `own`: the replay whose pods are concerned, and its root. */
interface RegistrationOptions {
  readonly client: ApiClient
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
