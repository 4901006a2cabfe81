/**
 * What an API server is told of the webhooks of controllers: one ValidatingWebhookConfiguration and one
 * MutatingWebhookConfiguration for each controller that has such functions, and `spec.conversion` of the
 * CustomResourceDefinition that a controller converts.
 */

import type { ApiObject, Kind } from "../../kube/index.ts"

/** What a webhook does. A path of the server is `/CONTROLLER/CALL`. */
export type AdmissionCall = "validate" | "mutate" | "convert"

/** Label selector of a webhook, as in Kubernetes. */
export interface WebhookSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | ReadonlyArray<{ readonly key: string; readonly operator: string; readonly values?: ReadonlyArray<string> }>
    | undefined
}

/** The webhooks of one controller, as data that can cross threads. */
export interface AdmissionTerms {
  readonly controller: string
  /** At least one. */
  readonly calls: ReadonlyArray<AdmissionCall>
  /** Kinds such as `apps/v1.Deployment`; the first one is that of `for`, which is the one that is converted. */
  readonly kinds: ReadonlyArray<string>
  readonly operations: ReadonlyArray<string>
  readonly failurePolicy: "Fail" | "Ignore"
  readonly timeoutMs: number
  readonly namespaceSelector: WebhookSelector
  readonly objectSelector: WebhookSelector
  readonly matchConditions: ReadonlyArray<{ readonly name: string; readonly expression: string }>
}

/** Where webhooks listen, and where the API server finds them. */
export interface WebhookAddress {
  /** The local address that they listen on; port 0: any that is free. */
  readonly listen: { readonly address: string; readonly port: number }
  /** The host by which the API server reaches this machine, as a name or an address. Not used with a Service. */
  readonly host: string
  /** In the cluster of the API server: the Service in front of the process. */
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number } | undefined
}

/** Webhooks that are served. */
export interface AdmissionOptions extends WebhookAddress {
  /** Begins the names of the objects that are registered; another process with other controllers needs another one. Default `kubereel`. */
  readonly prefix?: string | undefined
}

export const defaultPrefix = "kubereel"

/** Of the Secret with the certificate, beside the Service. It may be there already, and empty. */
export const secretName = (prefix: string): string => `${prefix}-webhooks`

/** The host that the certificate is for. */
export const certifiedHost = ({ host, service }: WebhookAddress): string =>
  service === undefined ? host : `${service.name}.${service.namespace}.svc`

/** `clientConfig` of a webhook at that path. `port`: on which the server listens. `authority`: PEM. */
export const clientConfigOf = (address: WebhookAddress, port: number, path: string, authority: string) => {
  const { host, service } = address
  const target =
    service === undefined
      ? { url: `https://${host.includes(":") ? `[${host}]` : host}:${port}${path}` }
      : { service: { ...service, path } }
  return { ...target, caBundle: Buffer.from(authority).toString("base64") }
}

const configurations = (kind: string): Kind => ({
  gvk: { group: "admissionregistration.k8s.io", version: "v1", kind },
  plural: `${kind.toLowerCase()}s`,
  namespaced: false,
})

/** The kinds of the configurations, by what their webhooks do. */
export const configurationKinds = {
  validate: configurations("ValidatingWebhookConfiguration"),
  mutate: configurations("MutatingWebhookConfiguration"),
} as const

export const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}

export const configurationName = (prefix: string, controller: string): string => `${prefix}-${controller}`

export const pathOf = (controller: string, call: AdmissionCall): string => `/${controller}/${call}`

/**
 * s. One more than the controller has: the answer that names the controller comes before the API server's own
 * "context deadline exceeded".
 */
const timeoutSeconds = (timeoutMs: number): number => Math.ceil(timeoutMs / 1000) + 1

/** ms. The API server allows a webhook 30 s. */
export const longestTimeoutMs = 29_000

interface ConfigurationOptions {
  readonly prefix: string
  /** The resources of the terms' kinds. */
  readonly kinds: ReadonlyArray<Kind>
  readonly clientConfig: object
  /** The namespace that the process runs in: without it, no pod could replace one that is gone, as its creation would wait for it. */
  readonly ownNamespace: string | undefined
}

const elsewhere = (selector: WebhookSelector, namespace: string): WebhookSelector => ({
  ...selector,
  matchExpressions: [
    ...(selector.matchExpressions ?? []),
    { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace] },
  ],
})

/** The configuration of a controller that validates or mutates. */
export const configurationOf = (
  call: keyof typeof configurationKinds,
  terms: AdmissionTerms,
  { prefix, kinds, clientConfig, ownNamespace }: ConfigurationOptions,
): ApiObject => {
  const { controller, operations, failurePolicy, timeoutMs, namespaceSelector, objectSelector, matchConditions } = terms
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: configurationKinds[call].gvk.kind,
    metadata: {
      name: configurationName(prefix, controller),
      labels: { "app.kubernetes.io/managed-by": "kubereel", "app.kubernetes.io/instance": prefix },
    },
    webhooks: [
      {
        name: `${call}.${controller}.kubereel.dev`,
        clientConfig,
        rules: kinds.map(({ gvk: { group, version }, plural }) => ({
          apiGroups: [group],
          apiVersions: [version],
          operations,
          resources: [plural],
          scope: "*",
        })),
        failurePolicy,
        matchPolicy: "Equivalent",
        namespaceSelector: ownNamespace === undefined ? namespaceSelector : elsewhere(namespaceSelector, ownNamespace),
        objectSelector,
        // The functions get no client, so there is nothing that a dry run must not do.
        sideEffects: "None",
        timeoutSeconds: timeoutSeconds(timeoutMs),
        admissionReviewVersions: ["v1"],
        ...(matchConditions.length > 0 && { matchConditions }),
        ...(call === "mutate" && { reinvocationPolicy: "IfNeeded" }),
      },
    ],
  }
}

/** `spec.conversion` of a CustomResourceDefinition. */
export const conversionOf = (clientConfig: object): object => ({
  strategy: "Webhook",
  webhook: { clientConfig, conversionReviewVersions: ["v1"] },
})
