/** What an API server is told of the webhooks of controllers: configurations of admission, and how a custom kind is converted. */
import type { ApiObject, Kind, SelectorObject } from "../../kube/index.ts"

/** What a webhook does. It is at the path `/CONTROLLER/CALL`. */
export type AdmissionCall = "validate" | "mutate" | "convert"

/** The webhooks of one controller, as data that can cross threads. */
export interface AdmissionTerms {
  readonly controller: string
  readonly calls: ReadonlyArray<AdmissionCall>
  /** Such as `apps/v1.Deployment`; the first one is that of `for`, which is the one that is converted. */
  readonly kinds: ReadonlyArray<string>
  readonly operations: ReadonlyArray<string>
  readonly timeoutMs: number
  /** Members of a webhook in its configuration, as the API has them. */
  readonly members: { readonly namespaceSelector: SelectorObject; readonly [member: string]: unknown }
}

/** Where webhooks listen, where the API server finds them, and how what is registered is called. */
export interface WebhookAddress {
  /** The local address that they listen on; port 0: any that is free. */
  readonly listen: { readonly address: string; readonly port: number }
  /** The host by which the API server reaches this machine, as a name or an address. Not used with a Service. */
  readonly host: string
  /** In the API server's own cluster: the Service in front of the process. The certificate is then kept in the Secret `PREFIX-webhooks` of its namespace. */
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number } | undefined
  /** Begins the names of what is registered for controllers: a process with others needs another one. Default `kubereel`. */
  readonly prefix?: string | undefined
}

export const defaultPrefix = "kubereel"

/** The Secret with the certificate. */
export const secretName = (prefix: string): string => `${prefix}-webhooks`

/** The host that the certificate is for. */
export const certifiedHost = ({ host, service }: WebhookAddress): string =>
  service === undefined ? host : `${service.name}.${service.namespace}.svc`

/** `clientConfig` of a webhook at that path. `port`: on which the server listens. `authority`: PEM. */
export const clientConfigOf = ({ host, service }: WebhookAddress, port: number, path: string, authority: string) => {
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${port}${path}`
  const target = service === undefined ? { url } : { service: { ...service, path } }
  return { ...target, caBundle: Buffer.from(authority).toString("base64") }
}

const clusterKind = (group: string, kind: string): Kind => ({
  gvk: { group, version: "v1", kind },
  plural: `${kind.toLowerCase()}s`,
  namespaced: false,
})

/** The kinds of the configurations, by what their webhooks do. */
export const configurationKinds = {
  validate: clusterKind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
  mutate: clusterKind("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
} as const

export const definitions = clusterKind("apiextensions.k8s.io", "CustomResourceDefinition")

export const configurationName = (prefix: string, controller: string): string => `${prefix}-${controller}`

/** The configuration of a controller that validates or mutates. `kinds`: the resources of the terms' kinds. */
export const configurationOf = (
  call: keyof typeof configurationKinds,
  { controller, operations, timeoutMs, members }: AdmissionTerms,
  { prefix = defaultPrefix, service }: Pick<WebhookAddress, "prefix" | "service">,
  kinds: ReadonlyArray<Kind>,
  clientConfig: object,
): ApiObject => {
  const { matchExpressions = [], ...selected } = members.namespaceSelector
  // Without the process's own namespace: no pod could replace one that is gone, if its creation waited for it.
  const elsewhere = { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [service?.namespace ?? ""] }
  const webhook = {
    ...members,
    name: `${call}.${controller}.kubereel.dev`,
    clientConfig,
    rules: kinds.map(({ gvk: { group, version }, plural }) => ({
      ...{ apiGroups: [group], apiVersions: [version], resources: [plural], operations, scope: "*" },
    })),
    namespaceSelector: { ...selected, matchExpressions: [...matchExpressions, ...(service ? [elsewhere] : [])] },
    // The functions get no client, so there is nothing that a dry run must not do.
    sideEffects: "None",
    // A second more than the controller has: the answer that names it comes before the API server's own "context deadline exceeded".
    timeoutSeconds: Math.ceil(timeoutMs / 1000) + 1,
    admissionReviewVersions: ["v1"],
    ...(call === "mutate" && { reinvocationPolicy: "IfNeeded" }),
  }
  const labels = { "app.kubernetes.io/managed-by": "kubereel", "app.kubernetes.io/instance": prefix }
  const { group, version, kind } = configurationKinds[call].gvk
  const metadata = { name: configurationName(prefix, controller), labels }
  return { apiVersion: `${group}/${version}`, kind, metadata, webhooks: [webhook] }
}
